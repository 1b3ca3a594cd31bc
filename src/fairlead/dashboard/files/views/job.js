// @ts-check
/** One job with its tasks and what they wrote. */

import { Refused, address, read, request } from "../live/ask.js";
import { html, renew } from "../draw.js";
import { filters } from "../live/filters.js";
import { QUIET, mayAsk, tenant } from "./jobs.js";
import { table } from "../live/table.js";
import { clock, lasting } from "../live/times.js";

/**
 * @typedef {{number: number, machine: string | null, launched: number | null, started: number | null,
 *   ended: number | null, cause: string | null, code: number | null, message: string}} Attempt
 * @typedef {{task: number, state: string, attempts: Attempt[]}} Task
 */

const PAGE = 100;

/** Bytes of an output that are shown, from its end. */
const TAIL = 64 * 1024;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function job(page) {
  const name = page.words[0] ?? "";
  const facts = html("dl", { class: "facts" });
  const given = html("pre", { class: "given", tabindex: 0 });
  const what = html("details", { hidden: true }, html("summary", {}, "What was submitted"), given);
  const output = html("section", { class: "output", hidden: true, "aria-live": "polite" });
  const states = ["waiting", "launched", "running", "stopping", "finished", "failed", "dropped"];
  const list = filters(page, [{ name: "state", label: "state", choices: [["", "all"], ...states.map((each) => /** @type {[string, string]} */ ([each, each]))] }]);
  const last = (/** @type {Task} */ row) => row.attempts.at(-1);
  const shown = table(
    "Tasks",
    [
      { name: "task", kind: "number", cell: (/** @type {Task} */ row) => row.task },
      { name: "state", cell: (row) => html("span", { class: `state ${row.state}` }, row.state) },
      { name: "machine", kind: "word", cell: (row) => last(row)?.machine ?? "–" },
      { name: "started", kind: "time extra", cell: (row) => clock(last(row)?.started) },
      { name: "ended", kind: "time extra", cell: (row) => clock(last(row)?.ended) },
      { name: "attempts", kind: "number extra", cell: (row) => row.attempts.length },
      { name: "how it ended", kind: "soft said", cell: (row) => ended(last(row)) },
      {
        name: "",
        label: "output",
        kind: "word",
        cell: (row) =>
          row.attempts.length
            ? html(
                "span",
                { class: "choices" },
                ...["stdout", "stderr"].map((stream) => html("button", { type: "button", "aria-label": `${stream} of task ${row.task}`, onclick: () => write(row.task, stream) }, stream)),
              )
            : null,
      },
    ],
    (row) => String(row.task),
  );
  const tasks = html("section", { hidden: true }, html("h2", {}, "Tasks"), list.form, shown.element, list.pages, output);
  const apart = html("p", { class: "soft", hidden: true }, "What it runs, its tasks and what they write are its tenant's own.");

  const reasons = html("p", { hidden: true }, html("a", { href: `#why/${encodeURIComponent(name)}` }, "Why does it wait, and what would start it?"));

  /** @param {number} task @param {string} stream */
  async function write(task, stream) {
    const heading = html("h3", {}, `${stream} of task ${task}`);
    output.hidden = false;
    try {
      const query = new URLSearchParams({ stream, offset: String(-TAIL) });
      const answer = await request("GET", `${address("jobs", name, "tasks", String(task), "output")}?${query}`);
      const text = await answer.text();
      const begin = Number(answer.headers.get("Fairlead-Offset"));
      output.replaceChildren(
        heading,
        begin ? html("p", { class: "soft" }, `The last ${TAIL / 1024} KiB; ${begin} bytes before them are not shown.`) : "",
        html("pre", { tabindex: 0 }, text || "It wrote nothing so far."),
      );
    } catch (error) {
      output.replaceChildren(heading, html("p", { class: "warning" }, error instanceof Refused ? error.message : "The service is away."));
    }
    output.scrollIntoView({ block: "nearest" });
  }

  return {
    title: name,
    element: html(
      "section",
      {},
      html("p", { class: "path soft" }, html("a", { href: "#jobs" }, "Jobs")),
      html("h1", {}, name),
      facts,
      reasons,
      what,
      apart,
      tasks,
    ),
    async read(signal) {
      const found = await read(address("jobs", name), {}, signal);
      renew(facts, ...factsOf(found));
      const own = found.job !== null;
      apart.hidden = own;
      reasons.hidden = !own || !found.tasks.waiting || !mayAsk(page);
      what.hidden = tasks.hidden = !own;
      if (own) {
        const text = JSON.stringify(found.job, null, 2);
        if (given.textContent !== text) given.textContent = text;
        const some = await read(address("jobs", name, "tasks"), { ...list.query(), limit: PAGE }, signal);
        shown.show(some.tasks, "No task of this job is in this state.");
        list.take(some.next);
      }
      return found.ended ? 0 : QUIET;
    },
  };
}

/** @param {any} found */
function factsOf(found) {
  const counts = Object.entries(found.tasks)
    .filter(([, count]) => count)
    .map(([state, count]) => `${/** @type {number} */ (count) >= 1e9 ? "∞" : count} ${state}`);
  /** @type {[string, import("../draw.js").Child][]} */
  const pairs = [
    ["tenant", tenant(found.tenant)],
    ["state", html("span", { class: `state ${found.state}` }, found.state)],
    ["tasks", counts.join(", ")],
    ["submitted", clock(found.submitted) + (found.by ? ` by ${found.by}` : "")],
    ["ended", found.ended ? clock(found.ended) : null],
    ["reason", found.reason],
  ];
  return pairs.filter(([, value]) => value).map(([term, value]) => html("div", {}, html("dt", {}, term), html("dd", {}, value)));
}

/** @param {Attempt | undefined} attempt */
function ended(attempt) {
  if (!attempt?.ended) return "";
  const code = attempt.code === null ? "" : ` ${attempt.code}`;
  const took = attempt.started === null ? "" : ` after ${lasting((attempt.ended - attempt.started) / 1e6)}`;
  return `${attempt.cause ?? ""}${code}${took}${attempt.message ? `: ${attempt.message}` : ""}`;
}
