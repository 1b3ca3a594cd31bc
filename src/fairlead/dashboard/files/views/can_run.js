// @ts-check
/** Can I run? A job that nobody submitted is tried by the service: now, or why not, and when. Whoever
 * may submit it submits it here. */

import { apartIn, html } from "../draw.js";
import { Away, request, said } from "../live/ask.js";

/** @param {import("../live/main.js").Page} page */
export function canRun(page) {
  const tasks = field("tasks", { type: "number", min: 1, max: 1e9, value: 1, size: 5, required: true });
  const demand = field("each with", { placeholder: "cpu 8, memory 96GiB, gpu 1", required: true, size: 26 });
  const where = field("where", { placeholder: "gpu-model = h100", size: 18 });
  const duration = field("for", { placeholder: "2h", size: 5 });
  const tenant = field("as tenant", { size: 9 });
  const name = field("job", { placeholder: "train-7", size: 12 });
  const command = field("runs", { placeholder: "python train.py", size: 30, maxlength: 4000 });
  const asking = html("button", { type: "submit" }, "Ask");
  const submitting = html("button", { type: "button", onclick: () => working(submit) }, "Submit it");
  const answer = html("p", { class: "can-run", "aria-live": "polite", hidden: true });
  const maySubmit = page.me.role !== "viewer";
  let sent = { text: "", key: "" };

  async function ask() {
    const found = await (await request("POST", "/v1/can-run", { body: job() })).json();
    const short = !found.now ? (found.never ? "Never" : "Not now") : found.waiting === 0 ? "Yes" : "In part";
    answer.replaceChildren(html("b", { class: found.now ? "" : "stops" }, short), `: ${apartIn(found.sentences.join("; "))}.`);
  }

  async function submit() {
    // To ask, a job needs neither.
    for (const { input } of [name, command]) input.required = true;
    const whole = form.reportValidity();
    for (const { input } of [name, command]) input.required = false;
    if (!whole) return;
    const body = { jobs: [{ ...job(), name: name.input.value.trim(), command: command.input.value.trim() }] };
    // The same job again is a second try of the same, for whoever did not see the answer of the first one.
    const text = JSON.stringify(body);
    if (text !== sent.text) sent = { text, key: key() };
    const found = await (await request("POST", "/v1/jobs", { body, headers: { "Idempotency-Key": sent.key } })).json();
    const [{ name: known }] = found.jobs;
    answer.replaceChildren(
      html("b", {}, found.repeated ? "Was submitted before" : "Submitted"),
      ": ",
      html("a", { href: `#job/${encodeURIComponent(known)}` }, known),
      ". ",
      ...found.warnings.map((/** @type {{sentence: string}} */ one) => html("span", { class: "stops" }, `${one.sentence}. `)),
      html("a", { href: `#why/${encodeURIComponent(known)}` }, "Does it wait, and why?"),
    );
    page.again();
  }

  /** @param {() => Promise<void>} work */
  async function working(work) {
    asking.disabled = submitting.disabled = true;
    try {
      await work();
    } catch (error) {
      const what = error instanceof Away ? "The service is away, and what became of this is not known; try the same again" : said(error);
      answer.replaceChildren(`${what}.`);
    } finally {
      answer.hidden = !answer.childNodes.length;
      asking.disabled = submitting.disabled = false;
    }
  }

  function job() {
    return {
      tasks: Number(tasks.input.value),
      demand: amounts(demand.input.value),
      ...given("where", where),
      ...given("duration", duration),
      ...given("tenant", tenant),
    };
  }

  const form = html(
    "form",
    { onsubmit: (/** @type {Event} */ event) => (event.preventDefault(), working(ask)) },
    html(
      "div",
      { class: "filters" },
      ...[tasks, demand, where, duration].map(({ line }) => line),
      page.me.tenant === null ? tenant.line : null,
      asking,
    ),
    maySubmit ? html("div", { class: "filters" }, name.line, command.line, submitting) : null,
  );
  return html(
    "details",
    { class: "ask", open: matchMedia("(min-width: 43.8em)").matches },
    html("summary", {}, maySubmit ? "Can I run? Or submit it" : "Can I run?"),
    form,
    answer,
  );
}

/** A text that nobody else chooses. */
function key() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
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
  const twice = pairs.find(([name], index) => pairs.some(([other], before) => before < index && other === name));
  if (twice) throw new Error(`${twice[0]} is given twice; write it once`);
  return Object.fromEntries(pairs);
}
