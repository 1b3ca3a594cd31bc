// @ts-check
/** The page of a study: its tables and charts, tenants' shares against their fair shares over time,
 * and the exact allocation of the moment at which most wait. Its data stand in the page itself. */

import { bottlenecks } from "./bottlenecks.js";
import { chart } from "./charts.js";
import { coloured } from "./colours.js";
import { html } from "./draw.js";
import { fairShares } from "./fair_shares.js";
import { drawn, inColumns } from "./past.js";
import { water } from "./water.js";

/**
 * @typedef {{title: string, caption: string, header: string[], rows: string[][]}} Table
 * @typedef {{policy: string, seed: number, since: number, until: number, more: number, tenants: import("./past.js").Past[]}} Pasts
 * @typedef {{about: string[], tables: Table[], groups: {title: string, charts: import("./charts.js").Chart[]}[], notes: string[],
 *   pasts: Pasts | null, moment: {sentence: string, seed: number, picture: import("./picture.js").Picture} | null}} Report
 */

/** Columns that a telephone has room for. */
const FEW = 5;

/** @type {Report} */
const shown = JSON.parse(document.getElementById("data")?.textContent ?? "null");
const names = new Set([...(shown.moment?.picture.drawn ?? []), ...(shown.pasts?.tenants ?? []).map(({ name }) => name)]);
const { paint, colour, patterns } = coloured([...names].sort());

/** @param {Table} table */
function tabled({ title, caption, header, rows }) {
  return html(
    "section",
    {},
    html("h2", {}, title),
    html(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": title },
      html(
        "table",
        { class: header.length > FEW ? "numbers columns" : "numbers" },
        html("thead", {}, html("tr", {}, ...header.map((name, index) => html("th", { scope: "col", class: index ? "number" : null }, name)))),
        html("tbody", {}, ...rows.map((row) => html("tr", {}, ...row.map((cell, index) => html(index ? "td" : "th", { scope: index ? null : "row", class: index ? "number" : null, "data-name": index ? header[index] : null }, cell))))),
      ),
    ),
    html("p", { class: "soft" }, caption),
  );
}

/** @param {Pasts} pasts */
function past({ policy, seed, since, until, more, tenants }) {
  const drawings = html("div", { class: "pasts" });
  inColumns(drawings, (width) =>
    drawings.replaceChildren(...tenants.map((one) => drawn(one, { since, until, width, colour: colour.get(one.name) ?? "", chosen: null }, null))),
  );
  return html(
    "section",
    {},
    html("h2", {}, `Who lacked what under ${policy}`),
    html("p", { class: "soft" }, `Seed ${seed}. Thick: the share that a tenant held. Dashed: its exact fair share of that moment. Red: what it lacked. Who lacked most comes first, each on a scale of its own; shares are not divided by weights.${more ? ` ${more} more tenants lacked less.` : ""}`),
    drawings,
  );
}

document.querySelector("main")?.append(
  patterns,
  ...shown.about.map((sentence) => html("p", { class: "soft" }, sentence)),
  ...shown.tables.map(tabled),
  ...shown.groups.map(({ title, charts }) => html("section", {}, html("h2", {}, title), html("div", { class: "charts" }, ...charts.map(chart)))),
  shown.pasts ? past(shown.pasts) : "",
  ...(shown.moment
    ? [
        html("h2", {}, "When most wait"),
        html("p", {}, shown.moment.sentence, ` Seed ${shown.moment.seed}. What would be fair then:`),
        ...shown.moment.picture.warnings.map((warning) => html("p", { class: "warning" }, warning)),
        fairShares(shown.moment.picture, paint),
        water(shown.moment.picture, paint),
        bottlenecks(shown.moment.picture, paint, colour),
      ]
    : []),
  shown.notes.length ? html("section", {}, html("h2", {}, "What was assumed"), html("ul", {}, ...shown.notes.map((note) => html("li", {}, note)))) : "",
);
