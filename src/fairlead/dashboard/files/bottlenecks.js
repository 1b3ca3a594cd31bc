// @ts-check
/** Bottlenecks: tenants on the left, classes of machines on the right, an edge where a tenant may
 * run, as thick as what it has there; a class glows by its price. */

import { apart, fitted, html, label, renew, svg } from "./draw.js";
import { amount, counted, share } from "./numbers.js";
import { called, few, prices, scarcest, short } from "./picture.js";

const THICK = 18;
const TELEPHONE = 600;

/** Lines past which those that only could be are left out, but for the class that is chosen. */
const MANY = 150;

/** Holders that a sentence names. */
const HOLDERS = 8;

/**
 * The machines that somebody chose, and whether he opened their names: it stays where the picture becomes
 * another one.
 * @typedef {{machines?: string, opened?: boolean}} Looked
 */

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 * @param {Map<string | null, string>} colour
 * @param {(like: string) => string} [more] the address of what one more machine like that would change
 * @param {Looked} [looked]
 */
export function bottlenecks(picture, paint, colour, more, looked = {}) {
  const dear = prices(picture);
  const before = picture.classes.findIndex(({ machines }) => machines === looked.machines);
  let chosen = before >= 0 ? before : dear.reduce((best, each, index) => ((each?.price ?? 0) > (dear[best]?.price ?? 0) ? index : best), 0);
  const drawing = html("div", { class: "edges", tabindex: 0, role: "region", "aria-label": "who can run where" });
  const detail = html("div", { class: "detail", "aria-live": "polite" });

  let width = 0;

  /** @param {number} index */
  function draw(index) {
    chosen = index;
    const inside = drawing.contains(document.activeElement) && document.activeElement !== drawing;
    drawing.replaceChildren(graph(picture, paint, colour, dear, chosen, width, choose));
    if (inside) /** @type {SVGElement | null} */ (drawing.querySelector(".choice[tabindex='0']"))?.focus({ preventScroll: true });
    renew(detail, ...told(picture, dear, chosen, more, looked));
  }

  /** @param {number} index */
  function choose(index) {
    looked.machines = picture.classes[index].machines;
    draw(index);
  }
  const view = html(
    "section",
    { class: "bottlenecks" },
    html("h2", {}, "Bottlenecks"),
    html(
      "p",
      { class: "soft" },
      "A line where a tenant can run, as thick as the part of the machines that it has there; red machines stop somebody. Choose machines to see who holds them and who waits.",
    ),
    drawing,
    detail,
  );
  fitted(view, (found) => {
    width = found;
    draw(chosen);
  });
  return view;
}

/**
 * The place among the classes in the middle of what a tenant has: that of who has nothing is the first.
 * @param {import("./picture.js").Picture} picture
 * @param {string | null} tenant
 */
function middle(picture, tenant) {
  let [all, sum] = [0, 0];
  for (const each of picture.fills) {
    if (each.tenant !== tenant) continue;
    const part = portion(picture, tenant, each.class).part;
    all += part;
    sum += part * each.class;
  }
  return all ? sum / all : 0;
}

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 * @param {Map<string | null, string>} colour
 * @param {ReturnType<typeof prices>} dear
 * @param {number} chosen
 * @param {number} width
 * @param {(index: number) => void} choose
 */
function graph(picture, paint, colour, dear, chosen, width, choose) {
  const narrow = width < TELEPHONE;
  const [left, right] = [Math.max(Math.round(width * 0.2), 100), Math.round(width * (narrow ? 0.46 : 0.64))];
  /** @type {(string | null)[]} */
  const tenants = [...picture.drawn].sort((a, b) => middle(picture, a) - middle(picture, b)); // so fewer lines cross
  if (picture.eligible.some(({ tenant }) => tenant === null)) tenants.push(null);
  const rows = Math.max(tenants.length, picture.classes.length, 1);
  const step = rows > 24 ? 20 : 34;
  const high = rows * step + 12;
  /** @param {number} index @param {number} count */
  const line = (index, count) => 6 + ((index + 0.5) * (high - 12)) / count;
  const place = new Map(tenants.map((name, index) => [name, index]));
  const top = Math.max(...dear.map((each) => each?.price ?? 0), 0);

  const edges = picture.eligible
    .filter(({ tenant }) => place.has(tenant))
    .flatMap(({ tenant, class: to }, _, all) => {
      const part = portion(picture, tenant, to);
      if (!part.part && to !== chosen && all.length > MANY) return [];
      const [from, y] = [line(place.get(tenant) ?? 0, tenants.length), line(to, picture.classes.length)];
      const bend = (right - left) / 2;
      return svg(
        "path",
        {
          d: `M${left} ${from}C${left + bend} ${from} ${right - bend} ${y} ${right} ${y}`,
          class: part.part ? "edge" : "edge open",
          stroke: part.part ? colour.get(tenant) : null,
          "stroke-width": part.part ? Math.max(1.5, THICK * part.part) : 1,
          opacity: to === chosen ? 0.95 : 0.35,
        },
        svg("title", {}, `${apart(called(tenant))} on ${picture.classes[to].machines}: ${part.text}`),
      );
    });
  const names = tenants.map((name, index) => {
    const y = line(index, tenants.length);
    return svg(
      "g",
      {},
      svg("rect", { x: left - 12, y: y - 6, width: 12, height: 12, rx: 2, fill: paint.get(name) }),
      label(called(name), left - 24, { x: left - 20, y: y + 4, class: "name", "text-anchor": "end" }),
    );
  });
  const classes = picture.classes.map((each, index) => {
    const y = line(index, picture.classes.length);
    const price = dear[index]?.price ?? 0;
    const name = narrow ? `${each.count} × ${each.machines}` : `${counted(each.count, "machine")} · ${each.machines}`;
    /** @param {Event} event */
    const pick = (event) => {
      const to = event instanceof KeyboardEvent ? reached(event.key, index, picture.classes.length) : index;
      if (to === null) return;
      event.preventDefault();
      choose(to);
    };
    return svg(
      "g",
      { class: "choice", tabindex: index === chosen ? 0 : -1, role: "button", "aria-pressed": String(index === chosen), "aria-label": name, onclick: pick, onkeydown: pick },
      svg("rect", { x: right, y: y - 10, width: width - right, height: 20, rx: 4, class: index === chosen ? "class chosen" : "class" }),
      price ? svg("rect", { x: right, y: y - 10, width: width - right, height: 20, rx: 4, class: "glow", opacity: 0.12 + (0.38 * price) / top }) : null,
      label(name, width - right - 14, { x: right + 8, y: y + 4, class: "name", "aria-hidden": "true" }),
    );
  });
  return svg("svg", { viewBox: `0 0 ${width} ${high}`, role: "group", "aria-label": "tenants and the machines that they can use" }, ...edges, ...names, ...classes);
}

/**
 * The class to which a key leads from one; null where it leads nowhere.
 * @param {string} key
 * @param {number} index
 * @param {number} count
 */
function reached(key, index, count) {
  const steps = /** @type {Record<string, number>} */ ({ Enter: index, " ": index, ArrowUp: index - 1, ArrowDown: index + 1, Home: 0, End: count - 1 });
  return key in steps ? Math.min(Math.max(steps[key], 0), count - 1) : null;
}

/**
 * The greatest part that a tenant has of any resource of a class.
 * @param {import("./picture.js").Picture} picture
 * @param {string | null} tenant
 * @param {number} index
 */
function portion(picture, tenant, index) {
  const fill = picture.fills.find((one) => one.class === index && one.tenant === tenant);
  if (!fill) return { part: 0, text: "it can run there, and has nothing" };
  const size = picture.classes[index].capacity;
  const parts = Object.entries(fill.amounts).map(([name, row]) => (size[name] ? row[row.length - 1] / size[name] : 0));
  return { part: Math.max(0, ...parts), text: counted(fill.tasks, "task") };
}

/**
 * Of one class: what is scarce, who holds it, who waits for it, and what more of it is worth.
 * @param {import("./picture.js").Picture} picture
 * @param {ReturnType<typeof prices>} dear
 * @param {number} index
 * @param {((like: string) => string) | undefined} more
 * @param {Looked} looked
 */
function told(picture, dear, index, more, looked) {
  const each = picture.classes[index];
  if (!each) return [];
  const price = dear[index];
  const resource = price?.resource ?? scarcest(picture);
  const size = each.capacity[resource] ?? 0;
  const held = picture.fills
    .filter((fill) => fill.class === index && fill.amounts[resource])
    .map((fill) => ({ tenant: fill.tenant, has: fill.amounts[resource][fill.amounts[resource].length - 1] }))
    .sort((a, b) => b.has - a.has);
  const could = picture.eligible.filter((pair) => pair.class === index);
  const wait = could.filter(({ wants }) => wants).map(({ tenant }) => tenant);
  const idle = could.filter(({ tenant, wants }) => !wants && !held.some((one) => one.tenant === tenant)).map(({ tenant }) => tenant);
  /** @type {HTMLElement[]} */
  const lines = [
    html("h3", {}, `${counted(each.count, "machine")} · ${each.machines}${each.labels.length ? `, ${each.labels.join(", ")}` : ""}`),
    html(
      "p",
      {},
      resource ? `${amount(size)} ${resource}: ` : "Nothing to share: ",
      held.length ? held.slice(0, HOLDERS).map(({ tenant, has }) => `${short(tenant)} ${amount(has)}`).join(", ") : "nobody holds any",
      held.length > HOLDERS ? `, and ${held.length - HOLDERS} more` : "",
      ".",
    ),
    html(
      "p",
      {},
      wait.length ? `${few(wait)} could run here and ${wait.length === 1 ? "wants" : "want"} more.` : "Nobody who could run here wants more.",
      idle.length ? ` ${few(idle)} could, too, and ${idle.length === 1 ? "asks" : "ask"} for nothing more.` : "",
    ),
  ];
  if (price) {
    const stop = few(price.level.stop);
    lines.push(
      html(
        "p",
        {},
        `It stops ${stop} at share ${share(price.level.share)}. By its price, one more machine of these would raise that share by ${amount((price.price * size) / each.count)} at first.`,
      ),
    );
  } else {
    lines.push(html("p", {}, "It stops nobody."));
  }
  if (each.names !== each.machines) {
    const names = html("details", { open: looked.opened, ontoggle: () => (looked.opened = names.open) }, html("summary", {}, "Names of these machines"), html("p", { class: "soft" }, each.names));
    lines.push(names);
  }
  if (more) lines.push(html("p", {}, html("a", { href: more(each.like) }, "What one more machine of these would change")));
  return lines;
}
