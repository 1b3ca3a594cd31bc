// @ts-check
/** Time: a small drawing for each tenant, its share against its fair share, what it lacks shaded;
 * a click shows all tenants at that moment. */

import { html, renew } from "../draw.js";
import { share } from "../numbers.js";
import { HIGH, drawn, inColumns, lacked } from "../past.js";
import { read } from "../live/ask.js";
import { paints } from "../live/paints.js";
import { clock, lasting } from "../live/times.js";
import { concerns, lines, listed } from "./marks.js";

/** @typedef {import("../past.js").Point & {running: number, waiting: number}} Point */
/** @typedef {{name: string, points: Point[]}} Past */
/** @typedef {{since: number, until: number, tenants: Past[]}} History */

const SPANS = /** @type {const} */ ([
  ["600", "10 minutes"],
  ["3600", "1 hour"],
  ["21600", "6 hours"],
  ["86400", "1 day"],
  ["604800", "1 week"],
  ["2592000", "30 days"],
  ["31536000", "1 year"],
]);

const POINTS = 200;
const FEW = 60;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function time(page) {
  const span = html(
    "select",
    { "aria-label": "span of time", onchange: () => changed() },
    ...SPANS.map(([seconds, name]) => html("option", { value: seconds, selected: seconds === (page.query.get("span") ?? "600") }, name)),
  );
  const field = html("input", { type: "search", "aria-label": "tenants", placeholder: "tenants", value: page.query.get("tenant") ?? "", oninput: () => changed() });
  const drawings = html("div", { class: "pasts" });
  const slider = html("input", {
    type: "range",
    min: 0,
    max: POINTS,
    value: POINTS,
    oninput: () => {
      if (history) choose(history.since + ((history.until - history.since) * Number(slider.value)) / POINTS);
    },
  });
  const moment = html("div", { class: "moment", "aria-live": "polite" });
  const changes = html("div", { class: "changes" });
  /** @type {import("./marks.js").Mark[]} */
  let marks = [];
  /** @type {History | null} */
  let history = null;
  /** @type {number | null} */
  let chosen = null;
  let width = 0;

  function changed() {
    page.put({ span: span.value, tenant: field.value.trim() });
    page.again();
  }

  function redraw() {
    if (!history || !width) return;
    const wanted = field.value.trim();
    const shown = history.tenants.filter(({ name, points }) => name.includes(wanted) && points.some((one) => one.share !== null || one.fair !== null));
    const { colour } = paints(history.tenants.map(({ name }) => name));
    shown.sort((a, b) => lacked(b) - lacked(a));
    const { since, until } = history;
    drawings.replaceChildren(
      ...shown.slice(0, FEW).map((past) => drawn(past, { since, until, width, chosen, colour: colour.get(past.name) ?? "" }, choose, (x) => lines(marks.filter((mark) => concerns(mark, past.name)), x, HIGH))),
      shown.length > FEW ? html("p", { class: "soft" }, `${shown.length - FEW} more tenants: write a part of their names above.`) : "",
      shown.length ? "" : html("p", { class: "soft" }, nothing(history.tenants, wanted)),
    );
    renew(moment, ...(chosen === null ? [] : at(shown, chosen)));
    renew(changes, ...listed(marks, chosen, chosenByMark));
  }

  /** @param {number | null} when null: none, and the slider is at the end */
  function choose(when) {
    chosen = when;
    if (history) slider.value = String(when === null ? POINTS : Math.round((POINTS * (when - history.since)) / (history.until - history.since || 1)));
    slider.setAttribute("aria-valuetext", when === null ? "none is chosen" : clock(when));
    redraw();
  }

  /** @param {number} when */
  function chosenByMark(when) {
    choose(when);
    /** @type {HTMLElement | null} */ (changes.querySelector("[aria-pressed='true']"))?.focus(); // it may stand elsewhere now
  }

  const element = html(
    "section",
    {
      class: "time-view",
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === "Escape" && chosen !== null) choose(null);
      },
    },
    html("h1", {}, "Time"),
    html("p", { class: "soft" }, "Thick: the share that a tenant had. Dashed: its exact fair share. Red: what it lacked. Dotted: something changed. Who lacked most comes first, each on a scale of its own. Choose a moment for its numbers."),
    html("div", { class: "filters" }, span, field),
    html("label", { class: "moments" }, "moment ", slider),
    drawings,
    html("div", { class: "beside" }, changes, moment),
  );
  inColumns(drawings, (found) => {
    width = found;
    redraw();
  });
  return {
    title: "Time",
    element,
    async read(signal) {
      const until = Date.now() * 1000;
      const length = Number(span.value);
      const range = { since: Math.round(until - length * 1e6), until: Math.round(until) };
      const [found, told] = await Promise.all([read("/v1/shares/history", { ...range, points: POINTS }, signal), read("/v1/shares/marks", range, signal)]);
      history = found;
      marks = told.marks;
      redraw();
      return Math.max(2, length / POINTS);
    },
  };
}

/**
 * Why no tenant is drawn.
 * @param {Past[]} pasts
 * @param {string} wanted
 */
export function nothing(pasts, wanted) {
  if (!pasts.length) return "There was no tenant yet, and of jobs without a tenant no past is kept: they are rows of Now.";
  if (wanted && !pasts.some(({ name }) => name.includes(wanted))) return `No tenant has “${wanted}” in its name.`;
  return "No share of a tenant is recorded of that time.";
}

/**
 * All tenants at a moment, those who lacked most first.
 * @param {Past[]} pasts
 * @param {number} when
 */
function at(pasts, when) {
  const rows = pasts
    .flatMap(({ name, points }) => {
      const known = points.filter((one) => one.time <= when).pop();
      return known ? [{ name, known, lacks: Math.max((known.fair ?? 0) - (known.share ?? 0), 0) }] : [];
    })
    .sort((a, b) => b.lacks - a.lacks);
  const shown = rows[0]?.known.time ?? when;
  return [
    html("h2", {}, clock(shown), html("span", { class: "soft" }, ` ${lasting(Date.now() / 1000 - shown / 1e6)} ago`)),
    html(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "tenants at that moment" },
      html(
        "table",
        {},
        html("thead", {}, html("tr", {}, ...["tenant", "share", "fair", "short", "running", "waiting"].map((name, index) => html("th", { scope: "col", class: index ? "number" : null }, name)))),
        html(
          "tbody",
          {},
          ...rows.slice(0, 20).map(({ name, known, lacks }) =>
            html(
              "tr",
              {},
              html("th", { scope: "row", class: "tenant" }, name),
              ...[share(known.share), share(known.fair), lacks ? share(lacks) : "–", known.running, known.waiting >= 1e9 ? "∞" : known.waiting].map((value) => html("td", { class: "number" }, value)),
            ),
          ),
        ),
      ),
    ),
  ];
}
