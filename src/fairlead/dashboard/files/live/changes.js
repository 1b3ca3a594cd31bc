// @ts-check
/** The form of changes that are tried: sliders for weights and numbers of machines, limits, and lines
 * for the rest. What they mean, and whether they can be made, the service says. */

import { html } from "../draw.js";
import { amount } from "../numbers.js";
import { prices } from "../picture.js";
import { Refused, address, read } from "./ask.js";

/**
 * Changes in the words of `fairlead whatif`.
 * @typedef {Record<string, string[]>} Changes
 *
 * What the form begins with: tenants and a job that it is about, and changes that are made already.
 * @typedef {{tenants: string[], job: string | null, made: Changes}} Focus
 */

/** Sliders of a kind, at first. */
const FEW = 8;

/** Kinds of changes that are written, a line each. */
const WRITTEN = /** @type {const} */ ([
  ["add", "Add machines", "4 x h01"],
  ["remove", "Remove machines", "a[01-04]"],
  ["drop_constraint", "Drop a job's constraint", "train"],
  ["set_demand", "Change a task's demand", "train:cpu=2"],
]);

const KINDS = ["weight", "set_limit", ...WRITTEN.map(([name]) => name)];

/** Changes of an address. @param {URLSearchParams} query @returns {Changes} */
export function changesOf(query) {
  return Object.fromEntries(KINDS.map((name) => [name, query.getAll(name)]));
}

/**
 * The form. `load` asks for what the sliders are about, once; `changes` gives what is chosen.
 * @param {Focus} focus
 * @param {() => void} changed told whenever something else is chosen
 */
export function changesForm(focus, changed) {
  const id = `c${Math.random().toString(36).slice(2)}`;
  const weights = group("Weights");
  const machines = group("Machines");
  const job = group("This job");
  const limits = group("Limits");
  const tenants = html("datalist", { id: `${id}-tenants` });
  const resources = html("datalist", { id: `${id}-resources` });
  /** @type {(() => [string, string] | null)[]} each gives its kind and its text, or nothing */
  const controls = [];
  /** @type {Set<string>} */
  const weighed = new Set();
  const written = WRITTEN.map(([name, label, example]) => {
    const input = html("textarea", { id: `${id}-${name}`, placeholder: example, rows: 1, maxlength: 4000, autocapitalize: "off", spellcheck: "false", onchange: changed });
    input.value = (focus.made[name] ?? []).join("\n");
    return { name, input, line: html("p", { class: "field" }, html("label", { for: input.id }, label), input) };
  });
  const more = html("details", { open: written.some(({ input }) => input.value) }, html("summary", {}, "Other changes, a line each"), ...written.map(({ line }) => line));
  let loaded = false;

  /** @param {string} heading */
  function group(heading) {
    return html("fieldset", { hidden: true }, html("legend", {}, heading));
  }

  /**
   * A slider that says what it is now and what it would be.
   * @param {HTMLElement} place
   * @param {{name: string, before: number, min: number, max: number, step: number, value: number}} range
   * @param {(value: number) => [string, string] | null} told
   */
  function slider(place, { name, before, min, max, step, value }, told) {
    const input = html("input", { type: "range", id: `${id}-${controls.length}`, min, max, step, value, oninput: show, onchange: changed });
    const shown = html("output", { for: input.id });
    function show() {
      const now = Number(input.value);
      shown.textContent = now === before ? amount(before) : `${amount(before)} → ${amount(now)}`;
      input.setAttribute("aria-valuetext", shown.textContent);
    }
    show();
    place.append(html("p", { class: "field" }, html("label", { for: input.id, title: name }, name), input, shown));
    place.hidden = false;
    controls.push(() => (Number(input.value) === before ? null : told(Number(input.value))));
  }

  /** @param {{name: string, weight: string | null}} tenant */
  function weigh({ name, weight }) {
    const before = Number(weight);
    if (!before || weighed.has(name)) return; // a pool says the weight
    weighed.add(name);
    const made = (focus.made.weight ?? []).find((text) => text.startsWith(`${name}=`));
    const value = made ? Number(made.slice(name.length + 1)) : before;
    const range = { name, before, min: before / 4, max: Math.max(before * 4, value), step: before / 4, value };
    slider(weights, range, (now) => ["weight", `${name}=${now}`]);
  }

  /** @param {import("../picture.js").Picture} picture */
  function count(picture) {
    const dear = prices(picture);
    const order = picture.classes.map((each, index) => ({ ...each, price: dear[index]?.price ?? 0 })).sort((a, b) => b.price - a.price);
    for (const { machines: names, like, count: before } of order.slice(0, FEW)) {
      slider(machines, { name: names, before, min: 0, max: 2 * before + 4, step: 1, value: before }, (now) =>
        now > before ? ["add", `${now - before} x ${like}`] : ["remove", `${before - now} x ${like}`],
      );
    }
    resources.replaceChildren(...picture.resources.map((name) => html("option", { value: name })));
  }

  /** A limit of a tenant: three fields of one change. @param {string} [text] */
  function limit(text = "") {
    const [, name = "", resource = "", size = ""] = /^(.*):([^:=]*)=([^=]*)$/.exec(text) ?? [];
    const fields = /** @type {const} */ ([
      ["tenant", name, tenants.id],
      ["resource", resource, resources.id],
      ["at most", size, null],
    ]).map(([label, value, list]) => html("input", { "aria-label": label, placeholder: label, value, list, maxlength: 300, autocapitalize: "off", spellcheck: "false", onchange: changed }));
    limits.insertBefore(html("p", { class: "limit" }, ...fields), limits.lastElementChild);
    controls.push(() => {
      const [who, what, most] = fields.map(({ value }) => value.trim());
      return who && what && most ? ["set_limit", `${who}:${what}=${most}`] : null;
    });
  }

  /** @param {{where?: string, machines?: string[], exclude?: string[]} | null} given what was submitted, where it is told */
  function about(given) {
    if (!given) return;
    const parts = [given.where, given.machines ? "its list of machines" : "", given.exclude?.length ? "the machines that it excludes" : ""].filter(Boolean);
    if (!parts.length) return;
    const box = html("input", { type: "checkbox", onchange: changed });
    job.append(html("label", { class: "check" }, box, ` without its constraint (${parts.join("; ")})`));
    job.hidden = false;
    controls.push(() => (box.checked ? ["drop_constraint", /** @type {string} */ (focus.job)] : null));
  }

  const other = html("input", { "aria-label": "another tenant", placeholder: "another tenant", list: tenants.id, maxlength: 250, autocapitalize: "off", spellcheck: "false" });
  other.addEventListener("change", async () => {
    const name = other.value.trim();
    if (!name) return;
    try {
      weigh(await read(address("tenants", name)));
      other.value = "";
      other.setCustomValidity("");
    } catch (error) {
      other.setCustomValidity(/** @type {Error} */ (error).message);
      other.reportValidity();
    }
  });

  const element = html("div", { class: "changes" }, tenants, resources, job, weights, machines, limits, more);
  return {
    element,
    /** @param {AbortSignal} signal */
    async load(signal) {
      if (loaded) return;
      const [found, allocation, mine] = await Promise.all([
        read("/v1/tenants", { order: "weight", limit: 200 }, signal),
        read("/v1/allocation", {}, signal).catch((error) => {
          if (error instanceof Refused && !error.retry) return { picture: null };
          throw error; // where it says when to ask again, all is read again then
        }),
        focus.job ? read(address("jobs", focus.job), {}, signal) : { job: null },
      ]);
      loaded = true;
      about(mine.job);
      const made = (focus.made.weight ?? []).map((text) => text.slice(0, text.lastIndexOf("=")));
      const wanted = [...made, ...focus.tenants];
      const known = new Map(found.tenants.map((/** @type {{name: string}} */ each) => [each.name, each]));
      for (const name of wanted) if (known.has(name)) weigh(known.get(name));
      /** @type {Set<string>} */
      const wants = new Set((allocation.picture?.tenants ?? []).filter((/** @type {{wants: boolean}} */ each) => each.wants).map((/** @type {{name: string}} */ { name }) => name));
      const order = [...found.tenants].sort((a, b) => Number(wants.has(b.name)) - Number(wants.has(a.name))); // the heaviest of these first
      for (const each of order.slice(0, Math.max(0, FEW - weighed.size))) weigh(each);
      tenants.replaceChildren(...found.tenants.map((/** @type {{name: string}} */ { name }) => html("option", { value: name })));
      if (known.size > weighed.size) weights.append(html("p", { class: "field" }, html("span", {}), other));
      if (allocation.picture) count(allocation.picture);
      limits.append(html("button", { type: "button", onclick: () => limit() }, "One more limit"));
      (focus.made.set_limit?.length ? focus.made.set_limit : [""]).forEach((text) => limit(text));
      limits.hidden = false;
    },
    /** @returns {Changes} */
    changes() {
      /** @type {Changes} */
      const chosen = Object.fromEntries(KINDS.map((name) => [name, []]));
      for (const control of controls) {
        const made = control();
        if (made) chosen[made[0]].push(made[1]);
      }
      for (const { name, input } of written) {
        // Names may hold commas and semicolons, and no line breaks.
        chosen[name].push(...input.value.split("\n").map((line) => line.trim()).filter(Boolean));
      }
      return chosen;
    },
  };
}
