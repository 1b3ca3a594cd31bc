// @ts-check
/** The live audit: who has less than the exact allocation guarantees, since when, and who is in the
 * way; and who is below a fair share that is no whole number of tasks. */

import { read } from "../live/ask.js";
import { apartIn, html } from "../draw.js";
import { counted, share } from "../numbers.js";
import { short as brief } from "../picture.js";
import { table } from "../live/table.js";
import { clock } from "../live/times.js";
import { mayAsk, tenant } from "./jobs.js";
import { clear, known } from "./now.js";

/**
 * @typedef {{tenant: string, guaranteed: number, has: number, shortfall: number, tasks: number,
 *   job: string | null, since: number | null, counts: Record<string, number>, sentence: string}} Short
 * @typedef {{tenant: string, fair: number, has: number, gap: number, job: string, sentence: string}} Below
 */

/** Tenants in the way that are named. */
const NAMED = 4;

/** Seconds between looks while somebody is not judged yet, while somebody is short, and else. */
const BEHIND = 2;
const SHORT = 5;
const QUIET = 30;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function audit(page) {
  /** @param {string | null} job */
  const link = (job) => (job && mayAsk(page) ? html("a", { href: `#why/${encodeURIComponent(job)}` }, "why?") : null);
  const verdict = html("p", { class: "headline" });
  const remark = html("p", { class: "soft" });
  const short = table(
    "Tenants that are short",
    [
      { name: "tenant", kind: "word", cell: (/** @type {Short} */ row) => tenant(row.tenant) },
      { name: "guaranteed", kind: "number", cell: (row) => share(row.guaranteed) },
      { name: "has", kind: "number", cell: (row) => share(row.has) },
      { name: "short of", kind: "number", cell: (row) => html("b", { class: "stops" }, share(row.shortfall)) },
      { name: "tasks", kind: "number extra", cell: (row) => row.tasks },
      { name: "since", kind: "time extra", cell: (row) => clock(row.since) },
      { name: "in the way", kind: "soft extra way", cell: (row) => holders(row) },
      { name: "why", kind: "why", cell: (row) => apartIn(row.sentence) },
      { name: "", label: "reasons", cell: (row) => link(row.job) },
    ],
    (row) => row.tenant,
    "audit",
  );
  const below = table(
    "Tenants that are below their fair share",
    [
      { name: "tenant", kind: "word", cell: (/** @type {Below} */ row) => tenant(row.tenant) },
      { name: "fair", kind: "number", cell: (row) => share(row.fair) },
      { name: "has", kind: "number", cell: (row) => share(row.has) },
      { name: "below", kind: "number", cell: (row) => share(row.gap) },
      { name: "why", kind: "why", cell: (row) => apartIn(row.sentence) },
      { name: "", label: "reasons", cell: (row) => link(row.job) },
    ],
    (row) => row.tenant,
    "audit",
  );
  return {
    title: "Audit",
    element: html(
      "section",
      {},
      html("h1", {}, "Audit"),
      verdict,
      short.element,
      html("h2", {}, "Below a fair share in parts of tasks"),
      html("p", { class: "soft" }, "They have all that is guaranteed: the whole tasks of what is fair."),
      below.element,
      remark,
    ),
    async read(signal) {
      const found = await read("/v1/audit", {}, signal);
      const count = found.shortfalls.length + found.more;
      verdict.textContent =
        count
          ? `${counted(count, "tenant")} of ${found.tenants} ${count === 1 ? "has" : "have"} less than is guaranteed.`
          : clear({ ...found, checked: found.tenants });
      const judged = found.exact !== null && !found.behind ? "Nobody." : found.tenants ? "Nobody of those who are judged." : "Nobody is judged yet.";
      short.show(found.shortfalls, judged);
      below.show(found.below_fair, judged);
      const rest = [found.more ? `${found.more} more are short` : "", found.below_fair_more ? `${found.below_fair_more} more are below` : ""].filter(Boolean);
      remark.textContent = [known(found), rest.length ? `${rest.join(", ")}.` : ""].filter(Boolean).join(" ");
      if (found.behind) return BEHIND;
      return count ? SHORT : QUIET;
    },
    /** The exact shares come a moment after what happened. */
    after: BEHIND,
  };
}

/** Whose tasks are in the way, and how many. @param {Short} row */
function holders({ counts }) {
  const order = Object.entries(counts).sort(([, a], [, b]) => b - a);
  const rest = order.length - NAMED;
  return `${order.slice(0, NAMED).map(([name, count]) => `${brief(name)} ${count}`).join(", ") || "–"}${rest > 0 ? ` and ${rest} more` : ""}`;
}
