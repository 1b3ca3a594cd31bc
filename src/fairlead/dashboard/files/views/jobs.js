// @ts-check
/** Jobs: a table that the service filters, sorts and parts into pages. */

import { read } from "../live/ask.js";
import { swatch } from "../colours.js";
import { html } from "../draw.js";
import { filters } from "../live/filters.js";
import { paints } from "../live/paints.js";
import { table } from "../live/table.js";
import { clock } from "../live/times.js";

/**
 * @typedef {{waiting: number, launched: number, running: number, stopping: number,
 *   finished: number, failed: number, dropped: number}} Counts
 * @typedef {{name: string, id: number, tenant: string, state: string, tasks: Counts,
 *   submitted: number, ended: number | null}} JobRow
 */

const PAGE = 100;

/** Seconds after which a list is read again though nothing was heard. */
export const QUIET = 30;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function jobs(page) {
  const list = filters(page, [
    { name: "prefix", label: "name begins with" },
    { name: "tenant", label: "of tenant" },
    {
      name: "state",
      label: "state",
      choices: [
        ["", "unfinished"],
        ["all", "all"],
        ...["pending", "running", "finished", "failed", "cancelled"].map((each) => /** @type {[string, string]} */ ([each, each])),
      ],
    },
    {
      name: "order",
      label: "order",
      choices: [
        ["", "newest first"],
        ["oldest", "oldest first"],
      ],
    },
  ]);
  const shown = table(
    "Jobs",
    [
      { name: "job", kind: "word", cell: (/** @type {JobRow} */ row) => html("a", { href: `#job/${encodeURIComponent(row.name)}` }, row.name) },
      { name: "tenant", kind: "word", cell: (row) => tenant(row.tenant) },
      { name: "state", cell: (row) => html("span", { class: `state ${row.state}` }, row.state) },
      ...counts,
      { name: "submitted", kind: "time extra", cell: (row) => clock(row.submitted) },
      { name: "ended", kind: "time extra", cell: (row) => clock(row.ended) },
      { name: "", label: "reasons", cell: (row) => (row.tasks.waiting && mayAsk(page) ? html("a", { href: `#why/${encodeURIComponent(row.name)}` }, "why?") : null) },
    ],
    (row) => String(row.id),
    "jobs",
  );
  return {
    title: "Jobs",
    element: html("section", {}, html("h1", {}, "Jobs"), list.form, shown.element, list.pages),
    async read(signal) {
      const { state, order, ...rest } = /** @type {Record<string, string>} */ (list.query());
      const all = state === "all";
      const found = await read("/v1/jobs", { ...rest, all, state: all ? "" : state, newest: order !== "oldest", limit: PAGE }, signal);
      const narrowed = Object.values({ ...rest, state }).some(Boolean);
      shown.show(found.jobs, narrowed ? "There is no such job on this page." : "There is no job that is not over.");
      list.take(found.next);
      return QUIET;
    },
  };
}

/** Whether reasons are told at all: a viewer is told none. @param {import("../live/main.js").Page} page */
export function mayAsk(page) {
  return page.me?.role !== "viewer";
}

/** @type {import("../live/table.js").Column<JobRow>[]} */
const counts = [
  { name: "waits", kind: "number", cell: (row) => (row.tasks.waiting >= 1e9 ? "∞" : row.tasks.waiting) },
  { name: "runs", kind: "number", cell: (row) => row.tasks.launched + row.tasks.running + row.tasks.stopping },
  { name: "finished", kind: "number extra", cell: (row) => row.tasks.finished },
  { name: "failed", kind: "number extra", cell: (row) => row.tasks.failed || "–" },
];

/**
 * A tenant with its paint.
 * @param {string} name
 */
export function tenant(name) {
  return html("span", { class: "whose" }, swatch(paints([name]).paint.get(name)), name);
}
