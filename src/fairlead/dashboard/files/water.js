// @ts-check
/** Water: a vessel for each class of machines, as wide as what it has, filled by tenants. All
 * shares rise together; who meets a full vessel stops. It is the proof, drawn. */

import { swatch } from "./colours.js";
import { apart, fitted, html, label, long, svg } from "./draw.js";
import { amount, counted, share } from "./numbers.js";
import { called, few, scarcest, short } from "./picture.js";

const GAP = 26;
const NARROWEST = 34;
const HIGH = 230;
const LOW = 120;
const [FOOT, NUMBER] = [58, 22]; // below a vessel: its name and what it has, or its number
const SIDE_BY_SIDE = 110; // so wide is a vessel that is easily read
const MANY = 8; // past so many vessels they have numbers, and names in a list
const STEP = 8; // by which rows of vessels are made shorter until they are of one length
const THUMB = 18; // of the slider, as wide as the style makes it
const WRITTEN = 72; // room for the share of a level

/**
 * What somebody chose to look at: it stays where the picture becomes another one.
 * @typedef {{resource?: string, level?: number}} Looked
 */

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 * @param {Looked} [looked]
 */
export function water(picture, paint, looked = {}) {
  const last = Math.max(picture.levels.length - 1, 0);
  let resource = picture.resources.find((name) => name === looked.resource) ?? scarcest(picture);
  let level = Math.min(looked.level ?? last, last);
  let width = 0;
  const story = html("p", { class: "story", "aria-live": "polite" });
  const vessels = html("div", { class: "vessels", tabindex: 0, role: "region", "aria-label": "vessels" });
  const scale = html("div", { class: "levels" });
  const kinds = html("ol", { class: "kinds" });
  const held = new Set(picture.fills.map(({ tenant }) => tenant));
  const key = [...picture.drawn, null].filter((tenant) => held.has(tenant)).map((tenant) => html("li", { title: called(tenant) }, swatch(paint.get(tenant)), short(tenant)));

  const choice = html(
    "select",
    {
      "aria-label": "resource",
      onchange: () => {
        resource = looked.resource = choice.value;
        redraw();
      },
    },
    ...picture.resources.map((name) => html("option", { value: name, selected: name === resource }, name)),
  );
  const slider = html("input", {
    type: "range",
    min: 0,
    max: last,
    value: level,
    "aria-label": "level",
    oninput: () => {
      level = Number(slider.value);
      looked.level = level < last ? level : undefined; // who looks at the end stays there
      redraw();
    },
  });

  function redraw() {
    slider.setAttribute("aria-valuetext", told(picture, level));
    story.replaceChildren(...sentence(picture, level));
    const there = sized(picture, resource);
    const rows = placed(there, width);
    const numbered = there.length > MANY || rows.flat().some((one) => long(one.each.machines, "name") > one.room || about(one, resource).some((text) => long(text, "small") > one.room));
    const full = fullAt(picture, resource, level);
    vessels.replaceChildren(drawn(picture, rows, resource, level, full, paint, width, numbered));
    kinds.replaceChildren(
      ...(numbered ? there : []).map(({ index, each, size }) =>
        html("li", { class: full.has(index) ? "full" : null }, `${each.machines}: ${counted(each.count, "machine")}, ${amount(size)} ${resource}${full.has(index) ? ", full" : ""}`),
      ),
    );
    if (picture.levels.length) scale.replaceChildren(ruler(picture, level, width)); // a mechanism has none
  }
  const view = html(
    "section",
    { class: "water" },
    html("h2", {}, "Water"),
    html(
      "p",
      { class: "soft" },
      "A vessel for each kind of machine, as wide as its ",
      choice,
      picture.levels.length ? ". All shares rise together; who meets a full vessel stops." : ".",
    ),
    picture.levels.length ? story : null,
    vessels,
    kinds,
    html("ul", { class: "key" }, ...key),
    picture.levels.length > 1 ? html("div", { class: "slide" }, slider, scale) : null,
  );
  fitted(view, (found) => {
    width = found;
    redraw();
  });
  return view;
}

/**
 * @param {import("./picture.js").Picture} picture
 * @param {number} level
 */
function told(picture, level) {
  const at = picture.levels[level];
  return at ? `level ${level + 1} of ${picture.levels.length}, share ${share(at.share)}` : "";
}

/**
 * What happens at a level, as a sentence.
 * @param {import("./picture.js").Picture} picture
 * @param {number} level
 */
function sentence(picture, level) {
  const at = picture.levels[level];
  if (!at) return [];
  return [
    `Level ${level + 1} of ${picture.levels.length}, share ${share(at.share)}: `,
    html("b", { class: "stops" }, few(at.stop)),
    at.stop.length === 1 ? " stops" : " stop",
    at.stopped_by ? `; what stops: ${at.stopped_by}.` : ".",
  ];
}

/**
 * The classes that have some of the resource, the largest first.
 * @param {import("./picture.js").Picture} picture
 * @param {string} resource
 */
function sized(picture, resource) {
  return picture.classes
    .map((each, index) => ({ index, each, size: each.capacity[resource] ?? 0 }))
    .filter(({ size }) => size > 0)
    .sort((a, b) => b.size - a.size);
}

/**
 * The classes of which the resource is gone at a level.
 * @param {import("./picture.js").Picture} picture
 * @param {string} resource
 * @param {number} level
 */
function fullAt(picture, resource, level) {
  const found = picture.levels.slice(0, level + 1).flatMap((each) => each.full.filter((one) => one.resource === resource));
  return new Set(found.map((one) => one.class));
}

/** The lines below a vessel's name. @param {ReturnType<typeof sized>[number]} vessel @param {string} resource */
function about({ each, size }, resource) {
  return [`${amount(size)} ${resource}`, ...each.labels.slice(0, 1)];
}

/**
 * Where the vessels stand, in as many rows as they need, of which none is much longer than the others; `room` is
 * for names.
 * @param {ReturnType<typeof sized>} there
 * @param {number} width
 */
function placed(there, width) {
  const all = there.reduce((sum, { size }) => sum + size, 0);
  const need = Math.ceil((there.length * SIDE_BY_SIDE) / width);
  const perUnit = ((width * need - GAP * (there.length - 1)) * 0.97) / all;
  const wide = there.map(({ size }) => Math.min(Math.max(size * perUnit, NARROWEST), width - 4));
  /** @param {number} most */
  function rows(most) {
    /** @type {number[][]} */
    const found = [];
    let x = 0;
    wide.forEach((each, place) => {
      if (!place || x + each > most) {
        found.push([]);
        x = 2;
      }
      found[found.length - 1].push(place);
      x += each + GAP;
    });
    return found;
  }
  let most = width;
  const least = rows(width).length;
  while (most > STEP && rows(most - STEP).length === least) most -= STEP;
  return rows(most).map((row) => {
    let x = 2;
    return row.map((place, at) => {
      // Nothing stands beside the last one.
      const found = { ...there[place], place, x, wide: wide[place], room: at === row.length - 1 ? width - x : Math.max(wide[place] + GAP - 6, 40) };
      x += wide[place] + GAP;
      return found;
    });
  });
}

/**
 * The vessels.
 * @param {import("./picture.js").Picture} picture
 * @param {ReturnType<typeof placed>} rows
 * @param {string} resource
 * @param {number} level
 * @param {Set<number>} full
 * @param {Map<string | null, string>} paint
 * @param {number} width
 * @param {boolean} numbered they have numbers in place of names
 */
function drawn(picture, rows, resource, level, full, paint, width, numbered) {
  const there = rows.flat();
  if (!there.length) return html("p", { class: "soft" }, `No machine has ${resource || "anything to share"}.`);
  const high = there.length > MANY ? LOW : HIGH;
  const foot = numbered ? NUMBER : FOOT;
  const tall = high + foot + 14;
  const parts = rows.flatMap((row, line) =>
    row.flatMap((one) => {
      const { index, each, place, x, wide, room } = one;
      const y = 6 + line * tall;
      return [
        vessel(picture, index, resource, level, paint, full.has(index), { x, y, wide, high }),
        label(numbered ? String(place + 1) : each.machines, room, { x, y: y + high + 18, class: "name" }),
        ...(numbered ? [] : about(one, resource)).map((text, line) => label(text, room, { x, y: y + high + 34 + 15 * line, class: "small" })),
      ];
    }),
  );
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${6 + rows.length * tall - 14}`, role: "img", "aria-label": spoken(picture, resource, level) },
    ...parts,
  );
}

/**
 * @param {import("./picture.js").Picture} picture
 * @param {number} index
 * @param {string} resource
 * @param {number} level
 * @param {Map<string | null, string>} paint
 * @param {boolean} full
 * @param {{x: number, y: number, wide: number, high: number}} at
 */
function vessel(picture, index, resource, level, paint, full, { x, y, wide, high }) {
  const each = picture.classes[index];
  const size = each.capacity[resource];
  let top = y + high;
  const segments = [];
  for (const fill of picture.fills.filter((one) => one.class === index)) {
    const held = at(fill, resource, level);
    if (!held) continue;
    const tall = Math.min((high * held) / size, top - y);
    top -= tall;
    // A name that was cut may be another one's: the key has all.
    const words = [`${apart(called(fill.tenant))} ${amount(held)}`, called(fill.tenant)].find((text) => long(text, "inside") <= wide - 12);
    segments.push(
      svg(
        "g",
        {},
        svg("title", {}, `${apart(called(fill.tenant))}: ${amount(held)} of ${amount(size)} ${resource} on ${each.machines}`),
        svg("rect", { x, y: top, width: wide, height: tall, fill: paint.get(fill.tenant), class: "segment" }),
        tall >= 18 && words ? svg("text", { x: x + 8, y: top + 14, class: "inside" }, words) : null,
      ),
    );
  }
  const free = top - y;
  return svg(
    "g",
    {},
    svg(
      "rect",
      { x, y, width: wide, height: high, class: "vessel" },
      svg("title", {}, `${each.machines}: ${amount(size)} ${resource}, ${each.labels.join(", ")}`),
    ),
    ...segments,
    free > 20 && wide > 50 ? label("free", wide - 12, { x: x + 8, y: y + 16, class: "small" }) : null,
    svg("path", { d: `M${x} ${y}V${y + high}H${x + wide}V${y}`, class: "wall" }),
    full ? svg("line", { x1: x, x2: x + wide, y1: y, y2: y, class: "stop" }) : null,
  );
}

/**
 * What a tenant has of a resource in a class at a level.
 * @param {import("./picture.js").Fill} fill
 * @param {string} resource
 * @param {number} level
 */
function at(fill, resource, level) {
  const row = fill.amounts[resource];
  return row ? row[Math.min(level, row.length - 1)] : 0;
}

/**
 * The picture in words, for those who do not see it.
 * @param {import("./picture.js").Picture} picture
 * @param {string} resource
 * @param {number} level
 */
function spoken(picture, resource, level) {
  const parts = picture.classes.map((each, index) => {
    const held = picture.fills
      .filter((fill) => fill.class === index && at(fill, resource, level))
      .map((fill) => `${apart(called(fill.tenant))} ${amount(at(fill, resource, level))}`);
    return `${each.machines}: ${held.join(", ") || "nothing"} of ${amount(each.capacity[resource] ?? 0)}`;
  });
  return `${resource} by machines. ${parts.slice(0, 20).join("; ")}`;
}

/**
 * The levels on a line below the slider, each where its thumb stops, with shares where there is room.
 * @param {import("./picture.js").Picture} picture
 * @param {number} chosen
 * @param {number} width
 */
function ruler(picture, chosen, width) {
  const step = (width - THUMB) / Math.max(picture.levels.length - 1, 1);
  /** @param {number} index */
  const at = (index) => THUMB / 2 + index * step;
  const apart = Math.ceil(WRITTEN / step);
  const marks = picture.levels.map((level, index) => {
    // The first one and the last begin and end at the edge, and reach further.
    const edge = Math.min(at(index), width - at(index));
    const room = edge <= THUMB / 2 || edge > 1.5 * WRITTEN;
    const written = index === chosen || (room && index % apart === 0 && Math.abs(index - chosen) >= apart);
    const anchor = at(index) > width - WRITTEN / 2 ? "end" : at(index) < WRITTEN / 2 ? "start" : "middle";
    return svg(
      "g",
      {},
      svg("circle", { cx: at(index), cy: 12, r: 4, class: "mark" }),
      written ? svg("text", { x: anchor === "start" ? 0 : anchor === "end" ? width : at(index), y: 36, class: index === chosen ? "small chosen" : "small", "text-anchor": anchor }, share(level.share)) : null,
    );
  });
  return svg("svg", { viewBox: `0 0 ${width} 42`, "aria-hidden": "true" }, svg("line", { x1: THUMB / 2, x2: width - THUMB / 2, y1: 12, y2: 12, class: "ruler" }), ...marks);
}
