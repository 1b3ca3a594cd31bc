// @ts-check
/** What if: weights, machines, constraints and limits changed together, and who would gain and who
 * would lose, before anyone does it. */

import { html } from "../draw.js";
import { amount, share } from "../numbers.js";
import { read, request } from "../live/ask.js";

/** The changes, in the words of `fairlead whatif`. */
const FIELDS = /** @type {const} */ ([
  ["add", "Add machines", "4 x h01"],
  ["remove", "Remove machines", "a[01-04]"],
  ["set_limit", "Set a limit", "vision:gpu=16"],
  ["drop_constraint", "Drop a job's constraint", "train"],
  ["set_demand", "Change a task's demand", "train:cpu=2"],
]);

const MOST_TENANTS = 12;
const MOST_JOBS = 30;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function whatIf(page) {
  const weights = html("fieldset", { hidden: true }, html("legend", {}, "Weights"));
  const inputs = FIELDS.map(([name, label, example]) => {
    const input = html("input", { id: `change-${name}`, placeholder: example, value: page.query.get(name) ?? "", maxlength: 500, autocapitalize: "off", spellcheck: "false" });
    return { name, input, line: html("p", { class: "field" }, html("label", { for: `change-${name}` }, label), input) };
  });
  const button = html("button", { type: "submit" }, "Try it");
  const answer = html("div", { class: "answer", "aria-live": "polite" });
  /** @type {{name: string, before: number, slider: HTMLInputElement}[]} */
  let sliders = [];
  let asked = false;

  async function ask() {
    /** @type {Record<string, string[]>} */
    const changes = { weight: sliders.filter(({ before, slider }) => Number(slider.value) !== before).map(({ name, slider }) => `${name}=${slider.value}`) };
    for (const { name, input } of inputs) {
      // Commas stand in names' ranges too, so changes are parted by semicolons.
      changes[name] = input.value.split(";").map((word) => word.trim()).filter(Boolean);
    }
    page.put(Object.fromEntries(inputs.map(({ name, input }) => [name, input.value.trim()])));
    button.disabled = true;
    answer.replaceChildren(html("p", { class: "soft" }, "Sharing twice, before and after …"));
    try {
      answer.replaceChildren(...told(await (await request("POST", "/v1/whatif", { body: changes })).json()));
    } catch (error) {
      answer.replaceChildren(html("p", { class: "warning", role: "alert" }, /** @type {Error} */ (error).message));
    } finally {
      button.disabled = false;
    }
  }

  return {
    title: "What if",
    element: html(
      "section",
      { class: "what-if" },
      html("h1", {}, "What if?"),
      html("p", { class: "soft" }, "Nothing is changed: the present jobs are shared twice, as things are and as they would be. Several changes of one kind are parted by semicolons."),
      html("form", { onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), ask()) }, weights, ...inputs.map(({ line }) => line), button),
      answer,
    ),
    async read(signal) {
      if (sliders.length) return 0;
      const { tenants } = await read("/v1/tenants", {}, signal);
      sliders = tenants.slice(0, MOST_TENANTS).flatMap((/** @type {{name: string, weight: string | null}} */ { name, weight }) => {
        const before = Number(weight);
        if (!before) return []; // a pool says the weight
        const slider = html("input", { type: "range", id: `weight-${name}`, min: before / 4, max: before * 4, step: before / 4, value: before });
        const shown = html("output", {}, amount(before));
        slider.addEventListener("input", () => (shown.textContent = amount(Number(slider.value))));
        weights.append(html("p", { class: "field" }, html("label", { for: `weight-${name}` }, name), slider, shown));
        return [{ name, before, slider }];
      });
      weights.hidden = !sliders.length;
      if (asked) return 0;
      asked = true; // whoever comes by a link to a change wants to see what it does
      if (inputs.some(({ input }) => input.value)) await ask();
      return 0;
    },
  };
}

/**
 * @typedef {{tenant: string, before: number, after_by_scales_of_before: number, verdict: string}} TenantMoved
 * @typedef {{job: string, tenant: string, before: number, after: number, verdict: string}} JobMoved
 * @param {{sentences: string[], whatif: {tenants: TenantMoved[], jobs: JobMoved[], warnings_after: string[]}}} found
 */
function told({ sentences, whatif }) {
  const moved = whatif.jobs.filter(({ verdict }) => verdict !== "same");
  return [
    html("ul", {}, ...[...sentences, ...whatif.warnings_after].map((sentence) => html("li", {}, sentence))),
    table(
      "tenants before and after",
      ["tenant", "share before", "share after, on the old scale", "change", ""],
      whatif.tenants.map((one) => [one.tenant, one.before, one.after_by_scales_of_before, one.verdict]),
      share,
    ),
    moved.length
      ? table(
          "jobs before and after",
          ["job", "tasks before", "tasks after", "change", ""],
          moved.slice(0, MOST_JOBS).map((one) => [one.job, one.before, one.after, one.verdict]),
          amount,
        )
      : null,
    moved.length > MOST_JOBS ? html("p", { class: "soft" }, `${moved.length - MOST_JOBS} more jobs gain or lose.`) : null,
  ].filter((part) => part !== null);
}

/**
 * Rows of a name, a number before and one after, and who gains.
 * @param {string} label
 * @param {string[]} header
 * @param {[string, number, number, string][]} rows
 * @param {(value: number) => string} written
 */
function table(label, header, rows, written) {
  return html(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": label },
    html(
      "table",
      {},
      html("thead", {}, html("tr", {}, ...header.map((name, index) => html("th", { scope: "col", class: index && name ? "number" : null }, name)))),
      html(
        "tbody",
        {},
        ...rows.map(([name, before, after, verdict]) =>
          html(
            "tr",
            {},
            html("th", { scope: "row", class: "tenant" }, name),
            ...[written(before), written(after), verdict === "same" ? "–" : signed(after - before, written)].map((value) => html("td", { class: "number" }, value)),
            html("td", { class: verdict === "loses" ? "stops" : "" }, verdict === "same" ? "" : verdict),
          ),
        ),
      ),
    ),
  );
}

/**
 * @param {number} value
 * @param {(value: number) => string} written
 */
function signed(value, written) {
  return value < 0 ? `−${written(-value)}` : `+${written(value)}`;
}
