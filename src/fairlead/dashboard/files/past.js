// @ts-check
/** The past of a tenant as a small drawing: its share against its fair share, what it lacked shaded. */

import { fitted, html, svg } from "./draw.js";
import { share } from "./numbers.js";

/** @typedef {{time: number, share: number | null, fair: number | null}} Point */
/** @typedef {{name: string, points: Point[]}} Past */

export const HIGH = 74;

const COLUMN = 400; // so wide is a drawing at least, where there is room for several
const GAP = 24;

/**
 * Puts the drawings of an element into as many columns as it has room for, and draws them when a
 * column has a width, or another one.
 * @param {HTMLElement} drawings
 * @param {(width: number) => void} draw
 */
export function inColumns(drawings, draw) {
  drawings.style.columnGap = `${GAP}px`;
  fitted(drawings, (width) => {
    const columns = Math.max(Math.floor((width + GAP) / (COLUMN + GAP)), 1);
    drawings.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    draw((width - GAP * (columns - 1)) / columns);
  });
}

/**
 * A drawing as high as the most that the tenant had or was due: what somebody small lacks is seen, too.
 * @param {Past} past
 * @param {{since: number, until: number, width: number, colour: string, chosen: number | null}} frame
 * @param {((when: number) => void) | null} choose
 * @param {(x: (when: number) => number) => Element | null} [more] what is drawn over it
 */
export function drawn(past, { since, until, width, colour, chosen }, choose, more) {
  const most = Math.max(...past.points.map((one) => Math.max(one.share ?? 0, one.fair ?? 0)), 0) || 1;
  /** @param {number} when */
  const x = (when) => (width * (when - since)) / (until - since || 1);
  /** @param {number} value */
  const y = (value) => HIGH - 6 - ((HIGH - 12) * value) / most;
  const last = past.points[past.points.length - 1];
  const lack = past.points.filter((one) => one.share !== null && one.fair !== null && one.fair - one.share > 1e-9).length;
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${width} ${HIGH}`,
      class: "past",
      role: "img",
      "aria-label": `${past.name}: share ${share(last?.share)}, fair ${share(last?.fair)}; below its fair share at ${lack} of ${past.points.length} moments`,
      onclick: choose && ((/** @type {MouseEvent} */ event) => {
        const box = drawing.getBoundingClientRect();
        choose(since + ((until - since) * (event.clientX - box.left)) / box.width);
      }),
    },
    svg("line", { x1: 0, x2: width, y1: y(0), y2: y(0), class: "floor" }),
    svg("path", { d: gap(past.points, x, y), class: "lack" }),
    svg("path", { d: line(past.points, (one) => one.fair, x, y), class: "fair-line" }),
    svg("path", { d: line(past.points, (one) => one.share, x, y), class: "share-line", stroke: colour }),
    more ? more(x) : null,
    chosen === null ? null : svg("line", { x1: x(chosen), x2: x(chosen), y1: 0, y2: HIGH, class: "chosen-moment" }),
  );
  return html("figure", {}, html("figcaption", {}, html("bdi", {}, past.name), html("span", { class: "soft" }, ` ${share(last?.share)} of ${share(last?.fair)}`)), drawing);
}

/** What a tenant lacked in all of the time. @param {Past} past */
export function lacked({ points }) {
  return points.reduce((sum, { share: has, fair }) => sum + (has === null || fair === null ? 0 : Math.max(fair - has, 0)), 0);
}

/**
 * The parts of a line between moments of which nothing is known.
 * @param {Point[]} points
 * @param {(one: Point) => number | null} of
 * @param {(when: number) => number} x
 * @param {(value: number) => number} y
 */
function line(points, of, x, y) {
  let pen = false;
  let path = "";
  for (const one of points) {
    const value = of(one);
    if (value === null) {
      pen = false;
      continue;
    }
    // A share holds until the next one: no slopes.
    path += pen ? `H${x(one.time).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(one.time).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  }
  return path;
}

/**
 * What is between share and fair share where the first is less.
 * @param {Point[]} points
 * @param {(when: number) => number} x
 * @param {(value: number) => number} y
 */
function gap(points, x, y) {
  let path = "";
  for (let index = 0; index + 1 < points.length; index += 1) {
    const { share: has, fair, time: from } = points[index];
    if (has === null || fair === null || fair - has <= 1e-9) continue;
    path += `M${x(from).toFixed(1)} ${y(fair).toFixed(1)}H${x(points[index + 1].time).toFixed(1)}V${y(has).toFixed(1)}H${x(from).toFixed(1)}Z`;
  }
  return path;
}
