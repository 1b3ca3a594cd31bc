// @ts-check
/** The page of a comparison: how many tasks each job runs under each policy, and the drawings of
 * the policy that is chosen. Its data stand in the page itself. */

import { bottlenecks } from "./bottlenecks.js";
import { coloured, swatch } from "./colours.js";
import { html, svg } from "./draw.js";
import { fairShares } from "./fair_shares.js";
import { amount, counted, percent } from "./numbers.js";
import { water } from "./water.js";

/**
 * @typedef {{job: string, tenant: string, policy: string, tasks: number | null, change: number | null}} Row
 * @typedef {{policies: {policy: string, refused: string[] | null}[], jobs: Row[],
 *   pictures: (import("./picture.js").Picture | null)[]}} Comparison
 */

const WIDTH = 150;
const FEW = 40;

/** @type {Comparison} */
const shown = JSON.parse(document.getElementById("data")?.textContent ?? "null");
const names = new Set(shown.pictures.flatMap((picture) => picture?.drawn ?? []));
const { paint, colour, patterns } = coloured([...names].sort());
const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const drawings = html("div", {});

/** @type {Map<string, Row[]>} */
const byJob = new Map();
for (const row of shown.jobs) byJob.set(row.job, [...(byJob.get(row.job) ?? []), row]);
const jobs = [...byJob.values()].sort((a, b) => moved(b) - moved(a));

/** By how much a job's tasks change at most. @param {Row[]} rows */
function moved(rows) {
  return Math.max(...rows.map(({ change }) => Math.abs(change ?? 0)));
}

const body = html("tbody", {}, ...jobs.slice(0, FEW).map(line));
const more = html(
  "button",
  {
    onclick: () => {
      body.append(...jobs.slice(FEW).map(line));
      more.remove();
    },
  },
  `Show ${jobs.length - FEW} more`,
);

/** @param {Row[]} rows one of each policy */
function line(rows) {
  const [{ job, tenant }] = rows;
  const most = Math.max(...rows.map(({ tasks }) => tasks ?? 0)) || 1;
  const fill = paint.get(tenant) ?? paint.get(null);
  return html(
    "tr",
    {},
    html("th", { scope: "row", class: "tenant" }, swatch(fill), tenant === job ? job : `${job} · ${tenant}`),
    ...rows.flatMap((row, index) => cells(row, index, most, fill)),
  );
}

/** @param {Row} row @param {number} index @param {number} most @param {string | undefined} fill */
function cells({ job, policy, tasks, change }, index, most, fill) {
  const name = { "data-name": policy };
  if (tasks === null) return [html("td", name, "–"), html("td", {}), html("td", {})];
  const less = (change ?? 0) < 0;
  const bar = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: "none", role: "img", "aria-label": `${job} runs ${amount(tasks)} tasks under ${policy}` },
    svg("rect", { y: 6, width: (WIDTH * tasks) / most, height: 14, rx: 2, fill }),
  );
  const word = !index || change === 0 ? "" : change === null ? (tasks ? "new" : "") : `${less ? "-" : "+"}${percent(Math.abs(change))}`;
  return [html("td", { ...name, class: "bar short" }, bar), html("td", { class: "number" }, amount(tasks)), html("td", { class: less ? "number stops" : "number" }, word)];
}

/** Why a policy is not there: the first reason, and behind it the others, which may be one of each job. @param {string} policy @param {string[]} reasons */
function refusal(policy, [reason, ...others]) {
  return html(
    "div",
    { class: "warning" },
    html("p", {}, `${policy} cannot be applied: ${reason}`),
    others.length ? html("details", {}, html("summary", {}, `${counted(others.length, "more reason")}`), html("ul", {}, ...others.map((one) => html("li", {}, one)))) : null,
  );
}

const choice = html(
  "select",
  { onchange: () => draw() },
  ...shown.policies.flatMap(({ policy }, index) => (shown.pictures[index] ? [html("option", { value: index }, policy)] : [])),
);

function draw() {
  const picture = shown.pictures[Number(choice.value)];
  if (!picture) return;
  drawings.replaceChildren(
    ...picture.warnings.map((warning) => html("p", { class: "warning" }, warning)),
    fairShares(picture, paint),
    picture.levels.length || picture.fills.length ? water(picture, paint) : "",
    picture.fills.length ? bottlenecks(picture, paint, colour) : "",
  );
}

const [first] = shown.policies;
main.append(
  patterns,
  ...shown.policies.flatMap(({ policy, refused }) => (refused ? [refusal(policy, refused)] : [])),
  html(
    "section",
    { class: "comparison" },
    html("h2", {}, "Tasks of each job"),
    html("p", { class: "soft" }, `Shares mean something else under every policy, so tasks are compared with those under ${first.policy}. The jobs that change most come first.`),
    html(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "tasks of each job" },
      html(
        "table",
        { class: "compared" },
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "job"), ...shown.policies.map(({ policy }) => html("th", { scope: "col", colspan: 3 }, policy)))),
        body,
      ),
    ),
    jobs.length > FEW ? more : null,
  ),
  html("p", { class: "chosen-policy" }, html("label", {}, "Drawn: ", choice)),
  drawings,
);
draw();
