// @ts-check
/** A colour is a tenant, everywhere the same; past as many colours as the eye tells apart, colours
 * come again with patterns. */

import { svg } from "./draw.js";

/** Told apart also by those who see red and green alike, on light and on dark ground. */
const COLOURS = ["#2f6db3", "#d1652a", "#2b8a66", "#8a5bb0", "#b8912b", "#3fa7c4", "#c2557f", "#7a8450"];

/** Of tenants that are drawn as one. */
const OTHERS = "#8b929b";

/** What is drawn over a colour when it comes again. */
const PATTERNS = ["", "M0 6L6 0", "M0 3H6", "M3 0V6", "M0 0L6 6M0 6L6 0"];

/** The colour of what has this place in an order. @param {number} place */
export function plain(place) {
  return COLOURS[place % COLOURS.length];
}

/**
 * The paint of each tenant, by the order in which they are named.
 * @param {string[]} names
 * @returns {{paint: Map<string | null, string>, colour: Map<string | null, string>, patterns: SVGSVGElement}}
 *   what fills an area, the plain colour, and an unseen drawing that has to be in the page
 */
export function coloured(names) {
  const paint = new Map([[/** @type {string | null} */ (null), OTHERS]]);
  const colour = new Map(paint);
  const definitions = svg("defs");
  names.forEach((name, index) => {
    const hue = plain(index);
    const turn = Math.floor(index / COLOURS.length) % PATTERNS.length;
    colour.set(name, hue);
    if (!turn) {
      paint.set(name, hue);
      return;
    }
    const id = `paint-${index % COLOURS.length}-${turn}`;
    if (![...definitions.children].some((made) => made.id === id)) {
      definitions.append(pattern(id, hue, PATTERNS[turn]));
    }
    paint.set(name, `url(#${id})`);
  });
  definitions.append(hatch());
  return { paint, colour, patterns: svg("svg", { class: "unseen", "aria-hidden": "true" }, definitions) };
}

/**
 * @param {string} id
 * @param {string} plain
 * @param {string} path
 */
function pattern(id, plain, path) {
  return svg(
    "pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" },
    svg("rect", { width: 6, height: 6, fill: plain }),
    svg("path", { d: path, stroke: "#fff", "stroke-width": 1.2, opacity: 0.75 }),
  );
}

/** What is asked for and not held. */
function hatch() {
  return svg(
    "pattern",
    { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 6, height: 6, class: "hatch-ground" }),
    svg("line", { y2: 6, class: "hatch-line" }),
  );
}

/**
 * A small square of a tenant's paint, before its name.
 * @param {string | undefined} fill
 */
export function swatch(fill) {
  return swatches([{ fill, size: 1 }]);
}

/**
 * The same of several tenants, parted among them.
 * @param {{fill: string | undefined, size: number}[]} parts
 */
export function swatches(parts) {
  const rx = parts.length > 1 ? 0 : 2;
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 12 12", "aria-hidden": "true" },
    ...places(parts, 12).map(({ fill, at, width }) => svg("rect", { x: at, width, height: 12, rx, fill })),
  );
}

/**
 * Parts side by side in a width, by their sizes; where all are 0, alike.
 * @template {{size: number}} P
 * @param {P[]} parts
 * @param {number} whole
 * @returns {(P & {at: number, width: number})[]}
 */
export function places(parts, whole) {
  const sum = parts.reduce((total, { size }) => total + size, 0);
  let at = 0;
  return parts.map((part) => {
    const width = sum > 0 ? (whole * part.size) / sum : whole / parts.length;
    at += width;
    return { ...part, at: at - width, width };
  });
}
