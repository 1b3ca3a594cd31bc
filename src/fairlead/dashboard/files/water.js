// @ts-check
/** Water: a vessel for each class of machines, as wide as what it has, filled by tenants. All
 * shares rise together; who meets a full vessel stops. It is the proof, drawn. */

import { fitted, html, label, svg } from "./draw.js";
import { amount, share } from "./numbers.js";
import { called, few, scarcest } from "./picture.js";

const GAP = 26;
const NARROWEST = 34;
const HIGH = 230;
const LOW = 120;
const FOOT = 44;
const SIDE_BY_SIDE = 110; // so wide is a vessel that is easily read

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 */
export function water(picture, paint) {
  let resource = scarcest(picture);
  let level = Math.max(picture.levels.length - 1, 0);
  let width = 0;
  const story = html("p", { class: "story", "aria-live": "polite" });
  const vessels = html("div", { class: "vessels", tabindex: 0, role: "region", "aria-label": "vessels" });
  const scale = html("div", { class: "levels" });

  const choice = html(
    "select",
    {
      "aria-label": "resource",
      onchange: () => {
        resource = choice.value;
        redraw();
      },
    },
    ...picture.resources.map((name) => html("option", { value: name, selected: name === resource }, name)),
  );
  const slider = html("input", {
    type: "range",
    min: 0,
    max: Math.max(picture.levels.length - 1, 0),
    value: level,
    "aria-label": "level",
    oninput: () => {
      level = Number(slider.value);
      redraw();
    },
  });

  function redraw() {
    slider.setAttribute("aria-valuetext", told(picture, level));
    story.replaceChildren(...sentence(picture, level));
    vessels.replaceChildren(drawn(picture, resource, level, paint, width));
    if (!picture.levels.length) return; // of a mechanism
    scale.replaceChildren(
      ruler(picture, level, width, (chosen) => {
        level = chosen;
        slider.value = String(chosen);
        redraw();
      }),
    );
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
 * The vessels, in as many rows as they need.
 * @param {import("./picture.js").Picture} picture
 * @param {string} resource
 * @param {number} level
 * @param {Map<string | null, string>} paint
 * @param {number} width
 */
function drawn(picture, resource, level, paint, width) {
  const there = picture.classes
    .map((each, index) => ({ index, each, size: each.capacity[resource] ?? 0 }))
    .filter(({ size }) => size > 0)
    .sort((a, b) => b.size - a.size);
  if (!there.length) return html("p", { class: "soft" }, `No machine has ${resource || "anything to share"}.`);
  const high = there.length > 8 ? LOW : HIGH;
  const all = there.reduce((sum, { size }) => sum + size, 0);
  const rows = Math.ceil((there.length * SIDE_BY_SIDE) / width);
  const perUnit = ((width * rows - GAP * (there.length - 1)) * 0.97) / all;
  const full = new Set(
    picture.levels
      .slice(0, level + 1)
      .flatMap((each) => each.full.filter((one) => one.resource === resource).map((one) => one.class)),
  );
  let [x, y] = [2, 6];
  const parts = [];
  for (const { index, each, size } of there) {
    const wide = Math.min(Math.max(size * perUnit, NARROWEST), width - 4);
    if (x > 2 && x + wide > width) [x, y] = [2, y + high + FOOT + 14];
    parts.push(vessel(picture, index, resource, level, paint, full.has(index), { x, y, wide, high }));
    const room = Math.max(wide + GAP - 6, 40);
    parts.push(
      label(each.machines, room, { x, y: y + high + 18, class: "name" }),
      label(`${amount(size)} ${resource}${each.labels.length ? ` · ${each.labels[0]}` : ""}`, room, {
        x,
        y: y + high + 34,
        class: "small",
      }),
    );
    x += wide + GAP;
  }
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${y + high + FOOT}`, role: "img", "aria-label": spoken(picture, resource, level) },
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
    segments.push(
      svg(
        "g",
        {},
        svg("title", {}, `${called(fill.tenant)}: ${amount(held)} of ${amount(size)} ${resource} on ${each.machines}`),
        svg("rect", { x, y: top, width: wide, height: tall, fill: paint.get(fill.tenant), class: "segment" }),
        tall >= 18 ? label(`${called(fill.tenant)} ${amount(held)}`, wide - 12, { x: x + 8, y: top + 14, class: "inside" }) : null,
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
      .map((fill) => `${called(fill.tenant)} ${amount(at(fill, resource, level))}`);
    return `${each.machines}: ${held.join(", ") || "nothing"} of ${amount(each.capacity[resource] ?? 0)}`;
  });
  return `${resource} by machines. ${parts.slice(0, 20).join("; ")}`;
}

/**
 * The levels on a line, each where its share is; a click goes there.
 * @param {import("./picture.js").Picture} picture
 * @param {number} chosen
 * @param {number} width
 * @param {(level: number) => void} go
 */
function ruler(picture, chosen, width, go) {
  const most = picture.levels[picture.levels.length - 1].share || 1;
  let free = -Infinity;
  const marks = picture.levels.flatMap((level, index) => {
    const x = 10 + ((width - 20) * level.share) / most;
    const room = x - free > 52;
    if (room) free = x;
    const anchor = x > width - 80 ? "end" : x < 80 ? "start" : "middle";
    return [
      svg(
        "circle",
        { cx: x, cy: 12, r: index === chosen ? 8 : 5, class: index === chosen ? "mark chosen" : "mark", onclick: () => go(index) },
        svg("title", {}, `${share(level.share)}: ${few(level.stop, 12)}`),
      ),
      room ? svg("text", { x, y: 36, class: "small", "text-anchor": anchor }, share(level.share)) : null,
    ];
  });
  return svg(
    "svg",
    { viewBox: `0 0 ${width} 42`, "aria-hidden": "true" },
    svg("line", { x1: 10, x2: width - 10, y1: 12, y2: 12, class: "ruler" }),
    ...marks,
  );
}
