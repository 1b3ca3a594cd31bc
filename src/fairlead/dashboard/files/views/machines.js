// @ts-check
/** Machines: what each has and what of it is free. */

import { read } from "../live/ask.js";
import { html } from "../draw.js";
import { filters } from "../live/filters.js";
import { QUIET } from "./jobs.js";
import { amount } from "../numbers.js";
import { table } from "../live/table.js";
import { clock } from "../live/times.js";

/**
 * @typedef {{name: string, state: string, capacity: Record<string, string>, free: Record<string, string>,
 *   labels: Record<string, string>, tasks: number, problem: string,
 *   quarantine: {until: number, failures: number, why?: string} | null}} MachineRow
 */

const PAGE = 200;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function machines(page) {
  const list = filters(page, [
    { name: "prefix", label: "name begins with" },
    { name: "where", label: "where" },
    {
      name: "state",
      label: "state",
      choices: [["", "all"], ...["up", "draining", "quarantined", "troubled"].map((each) => /** @type {[string, string]} */ ([each, each]))],
    },
    {
      name: "order",
      label: "order",
      choices: [
        ["", "by name"],
        ["tasks", "most tasks first"],
      ],
    },
  ]);
  /** @type {string[]} */
  let resources = []; // of all machines of the page, so that each stands below the same one
  const shown = table(
    "Machines",
    [
      { name: "machine", kind: "word", cell: (/** @type {MachineRow} */ row) => row.name },
      { name: "state", cell: (row) => html("span", { class: `state ${row.state}` }, row.state) },
      { name: "runs", kind: "number", cell: (row) => row.tasks },
      { name: "free of what it has", cell: (row) => free(row, resources), key: (row) => JSON.stringify([row.free, row.capacity, resources]) },
      { name: "labels", kind: "extra soft said", cell: (row) => pairs(row.labels) },
      { name: "remark", kind: "soft said", cell: remark },
    ],
    (row) => row.name,
    "machines",
  );
  return {
    title: "Machines",
    element: html("section", {}, html("h1", {}, "Machines"), list.form, shown.element, list.pages),
    async read(signal) {
      const found = await read("/v1/machines", { ...list.query(), limit: PAGE }, signal);
      resources = [...new Set(found.machines.flatMap((/** @type {MachineRow} */ { capacity }) => Object.keys(capacity)))];
      shown.show(found.machines, "There is no such machine.");
      list.take(found.next);
      return QUIET;
    },
  };
}

/** @param {MachineRow} row @param {string[]} resources */
function free(row, resources) {
  const parts = resources.map((name) => {
    const size = Number(row.capacity[name] ?? 0);
    if (!size) return html("span", { class: "amount" });
    const left = Number(row.free[name] ?? size);
    return html("span", { class: left > 0 ? "amount" : "amount gone" }, `${amount(left)} of ${amount(size)} ${name}`);
  });
  return html("span", { class: "amounts" }, ...parts);
}

/** @param {Record<string, string>} labels */
export function pairs(labels) {
  return Object.entries(labels)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
}

/** @param {MachineRow} row */
function remark(row) {
  const { quarantine } = row;
  const rest = quarantine && `rests until ${clock(quarantine.until)}${quarantine.why ? `: ${quarantine.why}` : ""}`;
  return [row.problem, rest].filter(Boolean).join("; ");
}
