// @ts-check
/** Can I run? A job that nobody submitted is tried by the service: now, or why not, and when. */

import { html } from "../draw.js";
import { request } from "../live/ask.js";

/** @param {import("../live/main.js").Page} page */
export function canRun(page) {
  const tasks = field("tasks", { type: "number", min: 1, max: 1e9, value: 1, size: 5 });
  const demand = field("each with", { placeholder: "cpu 8, memory 96GiB, gpu 1", required: true, size: 26 });
  const where = field("where", { placeholder: "gpu-model = h100", size: 18 });
  const duration = field("for", { placeholder: "2h", size: 5 });
  const tenant = field("as tenant", { size: 9 });
  const button = html("button", { type: "submit" }, "Ask");
  const answer = html("p", { class: "can-run", "aria-live": "polite", hidden: true });

  /** @param {Event} event */
  async function ask(event) {
    event.preventDefault();
    button.disabled = true;
    try {
      const body = {
        tasks: Number(tasks.input.value),
        demand: amounts(demand.input.value),
        ...given("where", where),
        ...given("duration", duration),
        ...given("tenant", tenant),
      };
      const found = await (await request("POST", "/v1/can-run", { body })).json();
      const short = !found.now ? "Not now" : found.waiting === 0 ? "Yes" : "In part";
      answer.replaceChildren(html("b", { class: found.now ? "" : "stops" }, short), `: ${found.sentences.join("; ")}.`);
    } catch (error) {
      answer.replaceChildren(`${/** @type {Error} */ (error).message}.`);
    } finally {
      answer.hidden = false;
      button.disabled = false;
    }
  }

  return html(
    "details",
    { class: "ask", open: matchMedia("(min-width: 701px)").matches },
    html("summary", {}, "Can I run?"),
    html(
      "form",
      { class: "filters", onsubmit: ask },
      ...[tasks, demand, where, duration].map(({ line }) => line),
      page.me.tenant === null ? tenant.line : null,
      button,
    ),
    answer,
  );
}

/**
 * @param {string} label
 * @param {Record<string, unknown>} attributes
 */
function field(label, attributes) {
  const input = html("input", { maxlength: 500, autocapitalize: "off", spellcheck: "false", ...attributes });
  return { input, line: html("label", {}, `${label} `, input) };
}

/** @param {string} name @param {{input: HTMLInputElement}} field */
function given(name, { input }) {
  const text = input.value.trim();
  return text ? { [name]: text } : {};
}

/**
 * `cpu 8, memory 96GiB` as the API takes it. Which resources and amounts there are, it says.
 * @param {string} text
 */
function amounts(text) {
  const pairs = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => {
      const [, name, amount] = /^(.*?)\s*[\s=:]\s*(\S+)$/.exec(part) ?? [];
      if (!name) throw new Error(`“${part}” is no resource with an amount; write as in cpu 8, memory 96GiB`);
      return [name, amount];
    });
  return Object.fromEntries(pairs);
}
