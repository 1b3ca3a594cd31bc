// @ts-check
/** The page of an audit: a verdict on each property under each policy, and what shows each
 * violation. Its data stand in the page itself. */

import { html, svg } from "./draw.js";
import { amount, counted, share } from "./numbers.js";

/**
 * @typedef {{policy: string, property: string, verdict: string, cell: string, sentence: string | null,
 *   before: number | null, after: number | null, unit: string | null, others: string[], note: string}} Finding
 * @typedef {{jobs: number, machines: number, tasks: string, findings: Finding[],
 *   refused: {policy: string, reasons: string[]}[], notes: string[]}} Audit
 */

const WIDTH = 420;

/** @type {Audit} */
const shown = JSON.parse(document.getElementById("data")?.textContent ?? "null");
const policies = [...new Set(shown.findings.map(({ policy }) => policy))];
const properties = [...new Set(shown.findings.map(({ property }) => property))];
const broken = shown.findings.filter(({ verdict }) => verdict === "violated");

/** @param {string} property @param {string} policy */
function cell(property, policy) {
  const found = shown.findings.find((one) => one.property === property && one.policy === policy);
  return html("td", { class: found?.verdict === "violated" ? "stops" : "soft" }, found?.cell ?? "");
}

/** @param {Finding} found */
function violation({ policy, property, sentence, before, after, unit, others }) {
  const most = Math.max(before ?? 0, after ?? 0) || 1;
  /** @param {string} name @param {number | null} value @param {string} kind */
  const bar = (name, value, kind) =>
    html(
      "tr",
      {},
      html("th", { scope: "row" }, name),
      html(
        "td",
        { class: "bar" },
        svg("svg", { viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { y: 6, width: (WIDTH * (value ?? 0)) / most, height: 14, rx: 2, class: kind })),
      ),
      html("td", { class: "number" }, unit === "share" ? `share ${share(value)}` : `${amount(value ?? 0)} ${unit}`),
    );
  return html(
    "article",
    {},
    html("h3", {}, `${policy}: ${property}`),
    html("p", {}, sentence),
    html(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": `${policy}: ${property}` },
      html("table", { class: "numbers" }, html("tbody", {}, bar("promised, or before", before, "promised"), bar("what comes out", after, "comes-out"))),
    ),
    others.length ? html("details", {}, html("summary", {}, `${counted(others.length, "more violation")} of it`), html("ul", {}, ...others.map((one) => html("li", {}, one)))) : null,
  );
}

/** Each note once, with what it is about: of which policies, where it is not of all. */
function remarks() {
  /** @type {Map<string, {about: Set<string>, under: Set<string>}>} */
  const found = new Map();
  for (const { note, property, policy } of shown.findings) {
    if (!note) continue;
    const { about, under } = found.get(note) ?? { about: new Set(), under: new Set() };
    found.set(note, { about: about.add(property), under: under.add(policy) });
  }
  return [...found].map(([note, { about, under }]) => html("li", {}, `${[...about].join(", ")}${under.size < policies.length ? ` (${[...under].join(", ")})` : ""}: ${note}`));
}

const notes = [...shown.notes.map((note) => html("li", {}, note)), ...remarks()];
document.querySelector("main")?.append(
  ...shown.refused.map(({ policy, reasons }) => html("p", { class: "warning" }, `${policy} cannot be applied: ${reasons.join("; ")}`)),
  html(
    "section",
    { class: "verdicts" },
    html("h2", {}, "Verdicts"),
    html("p", { class: "soft" }, `${counted(shown.jobs, "job")} on ${counted(shown.machines, "machine")}, ${shown.tasks} tasks. “holds” was computed exactly for this input; “none in N” means that N changes were tried and none violated the property, which proves nothing.`),
    html(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "verdicts" },
      html(
        "table",
        {},
        html("thead", {}, html("tr", {}, ...["property", ...policies].map((name) => html("th", { scope: "col" }, name)))),
        html("tbody", {}, ...properties.map((name) => html("tr", {}, html("th", { scope: "row" }, name), ...policies.map((policy) => cell(name, policy))))),
      ),
    ),
  ),
  html("section", { class: "violations" }, html("h2", {}, "What shows them"), ...(broken.length ? broken.map(violation) : [html("p", {}, "No property is violated here.")])),
  notes.length ? html("section", {}, html("h2", {}, "How to read this"), html("ul", {}, ...notes)) : "",
);
