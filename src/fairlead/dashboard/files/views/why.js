// @ts-check
/** Why a job waits: its sentences, its reasons with their counts, the changes that were tried, and
 * when it is expected to start. */

import { address, read } from "../live/ask.js";
import { apartIn, html, renew, svg } from "../draw.js";
import { paints } from "../live/paints.js";
import { amount, counted, whole } from "../numbers.js";
import { tenant } from "./jobs.js";
import { table } from "../live/table.js";
import { tryForm } from "./what_if.js";
import { clock, lasting } from "../live/times.js";

/** Jobs that are offered. */
const OFFERED = 20;

/** Seconds between looks: an answer computes for long. */
const AGAIN = 10;

/** Names that a sentence has room for. */
const FEW = 5;

/** Holders that are written; all that the service names are drawn. */
const NAMED = 6;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function why(page) {
  const name = page.words[0] ?? "";
  const field = html("input", {
    type: "search",
    id: "job",
    value: name,
    maxlength: 500,
    autocapitalize: "off",
    spellcheck: "false",
    oninput: () => page.again(),
  });
  const looking = name ? html("p", { class: "soft" }, "Looking for what keeps it …") : null;
  const answer = html("div", { class: "found", "aria-live": "polite" }, looking);
  const trial = html("section", { class: "trial", hidden: true });
  /** @type {ReturnType<typeof tryForm> | null} */
  let form = null;
  const offered = table(
    "Jobs that wait",
    [
      { name: "job", kind: "word", cell: (/** @type {import("./jobs.js").JobRow} */ row) => html("a", { href: `#why/${encodeURIComponent(row.name)}` }, row.name) },
      { name: "tenant", kind: "word", cell: (row) => tenant(row.tenant) },
      { name: "waits", kind: "number", cell: (row) => (row.tasks.waiting >= 1e9 ? "∞" : row.tasks.waiting) },
      { name: "submitted", kind: "time", cell: (row) => clock(row.submitted) },
    ],
    (row) => String(row.id),
  );
  const others = html("section", {}, html("h2", {}, "Jobs of which tasks wait"), offered.element);

  /** @param {Event} event */
  function go(event) {
    event.preventDefault();
    const wanted = field.value.trim();
    if (wanted) location.hash = `#why/${encodeURIComponent(wanted)}`;
  }

  return {
    title: name ? `Why ${name}` : "Why",
    element: html(
      "section",
      { class: "why-view" },
      html("h1", {}, "Why does it wait?"),
      html("form", { class: "filters", role: "search", onsubmit: go }, html("label", { for: "job" }, "Job"), field, html("button", { type: "submit" }, "Ask")),
      html("div", { class: "beside" }, answer, trial),
      others,
    ),
    async read(signal) {
      const typed = field.value.trim();
      const searching = !name || typed !== name;
      others.hidden = !searching;
      if (searching) {
        const found = await read("/v1/jobs", { waiting: true, prefix: typed, limit: OFFERED }, signal);
        offered.show(found.jobs, typed ? "No job that waits is called so." : "No job waits.");
      }
      if (!name) return AGAIN;
      const found = await read(address("jobs", name, "why"), {}, signal).finally(() => looking?.remove());
      renew(answer, ...told(found));
      if (!form && found.tasks.waiting) {
        const tenants = [found.tenant, ...found.holders.map((/** @type {Holder} */ each) => each.tenant)];
        form = tryForm({ tenants: [...new Set(tenants)].slice(0, FEW), job: found.job, made: {} });
        trial.replaceChildren(html("h2", {}, "What if?"), html("p", { class: "soft" }, "Nothing is changed: what is present is shared twice."), form.element, form.answer);
        trial.hidden = false;
      }
      await form?.load(signal);
      return found.tasks.waiting ? AGAIN : 0;
    },
  };
}

/** @param {any} found */
function told(found) {
  const { waiting, running, launched, finished, failed } = found.tasks;
  const many = waiting >= 1e9 ? "∞" : waiting;
  const wait = found.expected_start === null ? null : (found.expected_start - Date.now() * 1000) / 1e6;
  const parts = new Set([...sentencesOf(found.reasons), ...sentencesOf(found.changes), found.fair?.sentence]);
  const rest = found.sentences.slice(1).filter((/** @type {string} */ one) => !parts.has(one)); // the first one counts its tasks
  return [
    html("h2", {}, html("a", { href: `#job/${encodeURIComponent(found.job)}` }, found.job)),
    html("p", { class: "soft" }, tenant(found.tenant), ` · ${found.state} · ${many} waiting, ${running + launched} running, ${finished} finished, ${failed} failed`),
    waiting
      ? null
      : html("p", { class: "headline" }, running + launched ? "Nothing of it waits: all its tasks have begun." : "Nothing of it waits, and nothing of it runs."),
    wait === null
      ? null
      : html("p", { class: "headline" }, wait > 0 ? `Expected to start in about ${lasting(wait)}, at ${clock(found.expected_start)}.` : "Expected to start at any moment."),
    ...rest.map((/** @type {string} */ sentence) => html("p", {}, apartIn(sentence))),
    ...(found.machines && waiting ? funnel(found.machines, found.changes, found.holders, found.holders_more) : []),
    ...part("What keeps its tasks", sentencesOf(found.reasons)),
    ...part("Its fair share", found.fair ? [found.fair.sentence] : []),
    ...part("What would start some, each tried", sentencesOf(found.changes)),
  ].filter((each) => each !== null);
}

/** What keeps a task from a machine, in the order in which it is looked at, and what is left. */
const STEPS = /** @type {const} */ ([
  ["excluded", "satisfy its constraint"],
  ["too_small", "hold a task when empty"],
  ["draining", "take tasks"],
  ["one_each", "run no task of it yet"],
  ["no_room", "have room"],
  ["reserved", "are not kept for others"],
  ["not_preferred", "are such as it prefers"],
]);

/** @typedef {{tenant: string, tasks: number, amounts: Record<string, string>}} Holder */

/**
 * From all machines to those that could take a task now, a bar for each step that leaves some out, and
 * who holds what has the least to free.
 * @param {Record<string, number>} machines
 * @param {{kind: string, values: any}[]} changes
 * @param {Holder[]} holders
 * @param {number} more holders that are not listed
 */
function funnel(machines, changes, holders, more) {
  const all = STEPS.reduce((sum, [name]) => sum + machines[name], machines.room);
  let left = all;
  const rows = [step(all, all, "machines are there")];
  for (const [name, words] of STEPS) {
    left -= machines[name];
    if (left && !machines[name] && name !== "no_room") continue;
    rows.push(step(left, all, words));
    if (!left) break;
  }
  const ends = changes.find(({ kind }) => kind === "ends")?.values;
  const held = ends && Object.entries(ends.tasks).map(([job, count]) => `${count} of ${job}`);
  return [
    html("h3", {}, "Where it could run"),
    html("ol", { class: "funnel" }, ...rows),
    ...holding(holders, more),
    held ? html("p", {}, `Nearest to free: ${ends.machines.slice(0, FEW).join(", ")}, held by ${held.slice(0, FEW).join(", ")}.`) : null,
  ];
}

/**
 * Who holds the machines that could run it, as one bar of their tasks and in words.
 * @param {Holder[]} holders
 * @param {number} more
 */
function holding(holders, more) {
  if (!holders.length) return [];
  const paint = paints(holders.map(({ tenant: name }) => name)).paint;
  const all = holders.reduce((sum, { tasks }) => sum + tasks, 0);
  let from = 0;
  const parts = holders.map(({ tenant: name, tasks }) => {
    const part = svg("rect", { x: from, width: (100 * tasks) / all, height: 10, fill: paint.get(name) }, svg("title", {}, `${name}: ${counted(tasks, "task")}`));
    from += (100 * tasks) / all;
    return part;
  });
  const rest = more + holders.length - NAMED;
  return [
    html("h3", {}, "Who holds these machines"),
    svg("svg", { class: "holding", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...parts),
    html(
      "ul",
      { class: "holders" },
      ...holders.slice(0, NAMED).map(({ tenant: name, tasks, amounts }) =>
        html("li", {}, tenant(name), html("b", {}, ` ${counted(tasks, "task")}`), html("span", { class: "soft" }, ` ${Object.entries(amounts).map(([what, many]) => `${amount(Number(many))} ${what}`).join(", ")}`)),
      ),
      rest > 0 ? html("li", { class: "soft" }, `and ${rest} more`) : null,
    ),
  ];
}

/**
 * @param {number} left
 * @param {number} all
 * @param {string} words
 */
function step(left, all, words) {
  const wide = all ? Math.max((100 * left) / all, left ? 1 : 0) : 0;
  return html(
    "li",
    { class: left ? null : "none" },
    html("b", {}, whole(left)),
    svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { x: (100 - wide) / 2, width: wide, height: 10 })),
    html("span", {}, words),
  );
}

/** @param {{sentence: string}[]} some @returns {string[]} */
function sentencesOf(some) {
  return some.map(({ sentence }) => sentence);
}

/**
 * A heading with sentences below it; nothing where there are none.
 * @param {string} heading
 * @param {string[]} sentences
 */
function part(heading, sentences) {
  if (!sentences.length) return [];
  return [html("h3", {}, heading), html("ul", { class: "reasons" }, ...sentences.map((one) => html("li", {}, apartIn(one))))];
}
