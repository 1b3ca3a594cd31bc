// @ts-check
/** What if: weights, machines, constraints and limits changed together, and who would gain and who
 * would lose, before anyone does it. */

import { swatch } from "../colours.js";
import { apartIn, html, svg } from "../draw.js";
import { amount, counted, share } from "../numbers.js";
import { request, said } from "../live/ask.js";
import { changesForm, changesOf } from "../live/changes.js";
import { paints } from "../live/paints.js";

const MOST_TENANTS = 40;
const MOST_JOBS = 30;

/** Milliseconds from the last change to the question: each computes for long. */
const CALM = 500;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function whatIf(page) {
  const made = changesOf(page.query);
  const form = tryForm({ tenants: [], job: null, made }, (changes) => page.put(changes));
  let asked = !Object.values(made).some((texts) => texts.length);
  const loading = html("p", { class: "soft", role: "status" }, "Reading weights, and what would be fair now …");
  return {
    title: "What if",
    element: html(
      "section",
      { class: "what-if" },
      html("h1", {}, "What if?"),
      html("p", { class: "soft" }, "Nothing is changed: the present jobs are shared twice, as things are and as they would be."),
      loading,
      html("div", { class: "beside" }, form.element, form.answer),
    ),
    async read(signal) {
      await form.load(signal).finally(() => loading.remove());
      if (!asked) {
        asked = true; // whoever comes by a link to a change wants to see what it does
        await form.ask();
      }
      return 0;
    },
  };
}

/**
 * The form with its answer, which is asked for as soon as something is chosen.
 * @param {import("../live/changes.js").Focus} focus
 * @param {(changes: import("../live/changes.js").Changes) => void} [chosen] told what is asked
 */
export function tryForm(focus, chosen) {
  const button = html("button", { type: "submit" }, "Try it");
  const answer = html("div", { class: "answer", "aria-live": "polite" }, html("p", { class: "soft" }, "Move a slider, and who gains and who loses is shown here."));
  /** @type {number | undefined} */
  let timer;
  let number = 0;
  const form = changesForm(focus, () => {
    clearTimeout(timer);
    timer = setTimeout(ask, CALM);
  });

  async function ask() {
    clearTimeout(timer);
    const changes = form.changes();
    const mine = (number += 1);
    chosen?.(changes);
    if (!Object.values(changes).some((texts) => texts.length)) {
      answer.replaceChildren(html("p", { class: "soft" }, "Nothing is changed yet."));
      return;
    }
    answer.setAttribute("aria-busy", "true");
    if (!answer.querySelector(".headline")) answer.replaceChildren(html("p", { class: "soft" }, "Sharing twice, before and after …"));
    try {
      const found = await (await request("POST", "/v1/whatif", { body: changes })).json();
      if (mine === number) answer.replaceChildren(...told(found, focus.job));
    } catch (error) {
      if (mine === number) answer.replaceChildren(html("p", { class: "warning", role: "alert" }, `${said(error)}.`));
    } finally {
      if (mine === number) answer.removeAttribute("aria-busy");
    }
  }

  const element = html("form", { class: "try", onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), ask()) }, form.element, button);
  return { element, answer, load: form.load, ask };
}

/**
 * @typedef {{tenant: string, before: number, after_by_scales_of_before: number, verdict: string}} TenantMoved
 * @typedef {{job: string, tenant: string, before: number, after: number, verdict: string}} JobMoved
 * @param {{sentences: string[], whatif: {tenants: TenantMoved[], jobs: JobMoved[], warnings_after: string[]}}} found
 * @param {string | null} about
 */
function told({ sentences, whatif }, about) {
  const mine = whatif.jobs.find(({ job }) => job === about);
  const moved = whatif.jobs.filter((one) => one.verdict !== "same" || one === mine);
  const jobs = [...moved].sort((a, b) => Number(b === mine) - Number(a === mine) || Math.abs(b.after - b.before) - Math.abs(a.after - a.before));
  const tenants = whatif.tenants
    .filter(({ verdict }) => verdict !== "same")
    .sort((a, b) => gain(b) - gain(a));
  const same = whatif.tenants.length - tenants.length;
  return [
    html("p", { class: "headline" }, ...summary(tenants)),
    html("ul", { class: "reasons" }, ...[...sentences, ...whatif.warnings_after].map((sentence) => html("li", {}, apartIn(sentence)))),
    tenants.length
      ? table(
          "tenants before and after",
          ["tenant", "share now", "it would be", "change"],
          tenants.slice(0, MOST_TENANTS).map((one) => ({ name: one.tenant, before: one.before, after: one.after_by_scales_of_before, verdict: one.verdict, whose: one.tenant })),
          share,
        )
      : null,
    tenants.length > MOST_TENANTS ? html("p", { class: "soft" }, `${tenants.length - MOST_TENANTS} more tenants gain or lose.`) : null,
    same ? html("p", { class: "soft" }, `${counted(same, "tenant")} would have what ${same === 1 ? "it has" : "they have"}.`) : null,
    jobs.length
      ? table(
          "jobs before and after",
          ["job", "tasks now", "it would be", "change"],
          jobs.slice(0, MOST_JOBS).map((one) => ({ name: one.job, before: one.before, after: one.after, verdict: one.verdict, whose: one.tenant })),
          amount,
        )
      : null,
    jobs.length > MOST_JOBS ? html("p", { class: "soft" }, `${jobs.length - MOST_JOBS} more jobs gain or lose.`) : null,
  ].filter((part) => part !== null);
}

/** @param {TenantMoved} one */
function gain(one) {
  return one.after_by_scales_of_before - one.before;
}

/** Who gains and who loses, to be read at a glance. @param {TenantMoved[]} moved, the greatest gain first */
function summary(moved) {
  const gains = moved.filter(({ verdict }) => verdict === "gains");
  const loses = moved.filter(({ verdict }) => verdict === "loses").reverse();
  if (!moved.length) return ["Nobody would gain, and nobody would lose."];
  return [
    gains.length ? html("b", { class: "gains" }, names(gains)) : "Nobody",
    gains.length === 1 || !gains.length ? " gains, " : " gain, ",
    loses.length ? html("b", { class: "stops" }, names(loses)) : "nobody",
    loses.length === 1 || !loses.length ? " loses." : " lose.",
  ];
}

/** @param {TenantMoved[]} some */
function names(some) {
  const first = some.slice(0, 3).map(({ tenant }) => tenant);
  return `${first.join(", ")}${some.length > first.length ? ` and ${some.length - first.length} more` : ""}`;
}

/**
 * Rows of a name, a number before and one after, drawn and written.
 * @param {string} label
 * @param {string[]} header
 * @param {{name: string, before: number, after: number, verdict: string, whose: string}[]} rows
 * @param {(value: number) => string} written
 */
function table(label, header, rows, written) {
  const most = Math.max(...rows.map(({ before, after }) => Math.max(before, after)), 0) || 1;
  const paint = paints(rows.map(({ whose }) => whose)).paint;
  return html(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": label },
    html(
      "table",
      { class: "moved" },
      html(
        "thead",
        {},
        html("tr", {}, html("th", { scope: "col" }, header[0]), html("th", { "aria-label": "before and after, drawn" }), ...header.slice(1).map((name) => html("th", { scope: "col", class: "number" }, name))),
      ),
      html(
        "tbody",
        {},
        ...rows.map(({ name, before, after, verdict, whose }) =>
          html(
            "tr",
            {},
            html("th", { scope: "row", class: "tenant", title: name }, swatch(paint.get(whose)), name),
            html("td", { class: "bar" }, bar(before / most, after / most, paint.get(whose))),
            html("td", { class: "number" }, written(before)),
            html("td", { class: "number" }, written(after)),
            html("td", { class: `number ${verdict === "loses" ? "stops" : verdict}` }, verdict === "same" ? "–" : signed(after - before, written)),
          ),
        ),
      ),
    ),
  );
}

/** What it would be as a bar, what it is as a line. @param {number} before @param {number} after @param {string | undefined} fill */
function bar(before, after, fill) {
  return svg(
    "svg",
    { viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { y: 5, width: 100 * Math.min(before, after), height: 10, fill }),
    after > before
      ? svg("rect", { x: 100 * before, y: 5, width: 100 * (after - before), height: 10, fill, opacity: 0.45 })
      : svg("rect", { x: 100 * after, y: 5, width: 100 * (before - after), height: 10, class: "missing" }),
    svg("line", { x1: Math.min(100 * before + 0.3, 99.5), x2: Math.min(100 * before + 0.3, 99.5), y1: 1, y2: 19, class: "tick" }),
  );
}

/**
 * @param {number} value
 * @param {(value: number) => string} written
 */
function signed(value, written) {
  return value < 0 ? `-${written(-value)}` : `+${written(value)}`;
}
