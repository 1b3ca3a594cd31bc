// @ts-check
/** Events: what happened, the newest first, filtered and parted into pages by the service. */

import { read } from "../live/ask.js";
import { html } from "../draw.js";
import { filters } from "../live/filters.js";
import { tenant } from "./jobs.js";
import { table } from "../live/table.js";
import { clock } from "../live/times.js";

/** @typedef {import("../live/stream.js").ServerEvent} ServerEvent */

/** The kinds, as people say them. */
export const WORDS = {
  job_submitted: "job submitted",
  job_changed: "job changed",
  job_cancelled: "job cancelled",
  reject: "job rejected",
  job_forgotten: "job forgotten",
  launch: "task launched",
  task_placed: "task placed",
  stop: "task told to stop",
  task_started: "task started",
  task_finished: "task finished",
  task_failed: "task failed",
  task_lost: "task lost",
  task_stopped: "task stopped",
  machine_joined: "machine joined",
  machine_left: "machine left",
  machine_drained: "machine drained",
  machine_changed: "machine changed",
  machine_quarantined: "machine quarantined",
  quarantine_ended: "quarantine ended",
  tenant_changed: "tenant changed",
  service_started: "service started",
  core_changed: "core changed",
  engine_changed: "engine changed",
  engine_gone: "engine gone",
};

const PAGE = 100;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function events(page) {
  const list = filters(page, [
    { name: "kind", label: "what", choices: [["", "everything"], ...Object.entries(WORDS)] },
    { name: "tenant", label: "of tenant" },
    { name: "job", label: "job" },
    { name: "machine", label: "machine" },
  ]);
  const shown = table(
    "Events",
    [
      { name: "time", kind: "time", cell: (/** @type {ServerEvent} */ event) => clock(event.time) },
      { name: "what", kind: "word", cell: said },
      { name: "job", kind: "word", cell: (event) => (event.job ? html("a", { href: `#job/${encodeURIComponent(event.job)}` }, event.job) : null) },
      { name: "task", kind: "number extra", cell: (event) => event.task ?? null },
      { name: "tenant", kind: "word", cell: (event) => (event.tenant ? tenant(event.tenant) : null) },
      { name: "machine", kind: "word", cell: (event) => event.machine ?? null },
      { name: "number", kind: "number extra", cell: (event) => event.seq },
    ],
    (event) => String(event.seq),
    "events",
  );
  return {
    title: "Events",
    element: html("section", {}, html("h1", {}, "Events"), list.form, shown.element, list.pages),
    async read(signal) {
      const found = await read("/v1/events/past", { ...list.query(), limit: PAGE }, signal);
      shown.show(found.events, found.next ? "There is no such event on this page: look on the next one." : "Nothing of this kind has happened.");
      list.take(found.next);
      return 0;
    },
  };
}

/** @param {ServerEvent} event */
function said(event) {
  const words = /** @type {Record<string, string>} */ (WORDS)[event.kind] ?? event.kind;
  const back = event.kind === "machine_drained" && event.back ? "machine takes tasks again" : words;
  const cause = event.cause && event.cause !== "exited" ? `, ${event.cause}` : "";
  return `${back}${cause}${event.code ? `, code ${event.code}` : ""}`;
}
