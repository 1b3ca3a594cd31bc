// @ts-check
/** Charts of a study: what changes over time, parts of all that wait at most so long, and bars by the
 * size of jobs. A colour and dashes are a policy, or a tenant. */

import { plain } from "./colours.js";
import { fitted, html, label, svg } from "./draw.js";
import { amount, counted } from "./numbers.js";

/**
 * @typedef {{name: string, place: number, x: number[], y: number[]}} Curve
 * @typedef {{name: string, jobs: number, factors: {name: string, place: number, factor: number | null}[]}} Size
 * @typedef {{title: string, caption: string, kind: string, x_label: string, y_label: string, x_most: number,
 *   y_most: number | null, curves: Curve[], sizes: Size[]}} Chart
 */

const [HIGH, LEFT, RIGHT, TOP, FOOT] = [230, 46, 10, 8, 40];
const DASHES = ["", "7 3", "2 2.5", "8 3 2 3"];

/** Marks of an axis of time, in seconds, and of one that is logarithmic. */
const UNITS = /** @type {const} */ ([[86400, "days"], [3600, "hours"], [60, "minutes"], [1, "seconds"]]);
const MARKS = [0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];

/** An axis of factors reaches from 0.9 to 1.1 at least: a small difference is a small bar. */
const LEAST_SEEN = 0.1;

/** @param {Chart} chart */
export function chart(chart) {
  const place = html("div", {});
  const names = chart.kind === "sizes" ? (chart.sizes[0]?.factors ?? []) : chart.curves;
  const view = html(
    "figure",
    {},
    html("h3", {}, chart.title),
    place,
    html("ul", { class: "key" }, ...names.map((each) => html("li", {}, sample(each.place), each.name))),
    html("figcaption", { class: "soft" }, chart.caption),
  );
  fitted(view, (width) => place.replaceChildren(chart.kind === "sizes" ? bars(chart, width) : lines(chart, width)));
  return view;
}

/** @param {number} place */
function sample(place) {
  return svg("svg", { viewBox: "0 0 26 8", "aria-hidden": "true" }, svg("path", { d: "M0 4H26", ...look(place) }));
}

/** @param {number} place */
function look(place) {
  return { class: "curve", stroke: plain(place), "stroke-dasharray": DASHES[place % DASHES.length] || null };
}

/**
 * Steps: a value holds until the next one.
 * @param {Chart} chart
 * @param {number} width
 */
function lines(chart, width) {
  const parts = chart.kind === "parts";
  const [from, x, marks, unit] = parts ? logarithmic(chart.curves, width) : plainly(chart.x_most, width);
  const scale = parts ? 100 : 1;
  const most = chart.y_most ?? (parts ? 101 : Math.max(...chart.curves.flatMap(({ y }) => y), 0) * 1.05 || 1);
  const y = upwards(0, most);
  const drawn = chart.curves.map((curve) => {
    let d = parts ? `M${LEFT} ${y(0)}` : "";
    curve.x.forEach((when, at) => {
      const [across, up] = [x(Math.max(when, from)).toFixed(1), y(scale * curve.y[at]).toFixed(1)];
      d += d ? `H${across}V${up}` : `M${across} ${up}`;
    });
    return svg("path", { d, ...look(curve.place) }, svg("title", {}, curve.name));
  });
  return frame(chart, width, ticks(0, most), y, marks.map(([value, words]) => [x(value), words]), chart.x_label || `time (${unit})`, drawn);
}

/**
 * @param {Chart} chart
 * @param {number} width
 */
function bars(chart, width) {
  const factors = chart.sizes.flatMap((size) => size.factors.map(({ factor }) => factor ?? 1));
  const [least, most] = [Math.min(1 - LEAST_SEEN, ...factors), Math.max(1 + LEAST_SEEN, ...factors)];
  const y = upwards(least, most);
  const step = (width - LEFT - RIGHT) / Math.max(chart.sizes.length, 1);
  /** @type {Element[]} */
  const drawn = chart.sizes.flatMap(({ factors: some, name }, at) => {
    const wide = (0.8 * step) / Math.max(some.length, 1);
    return some.map(({ name: policy, place, factor }, index) => {
      const [one, top] = [y(1), y(factor ?? 1)];
      const x = LEFT + step * (at + 0.1) + wide * index;
      return svg(
        "rect",
        { x, y: Math.min(one, top), width: 0.9 * wide, height: Math.abs(one - top), fill: plain(place) },
        svg("title", {}, `${name}, ${policy}: ${factor === null ? "–" : `${amount(factor)}×`}`),
      );
    });
  });
  drawn.push(svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(1), y2: y(1), class: "axis" }));
  /** @type {[number, string][]} */
  const marks = chart.sizes.map(({ name, jobs }, at) => [LEFT + step * (at + 0.5), `${name}: ${counted(jobs, "job")}`]);
  return frame(chart, width, ticks(least, most), y, marks, chart.y_label, drawn);
}

/**
 * @param {Chart} chart
 * @param {number} width
 * @param {number[]} values
 * @param {(value: number) => number} y
 * @param {[number, string][]} marks
 * @param {string} words below the axis
 * @param {Element[]} drawn
 */
function frame(chart, width, values, y, marks, words, drawn) {
  const room = (width - LEFT) / Math.max(marks.length, 1);
  const foot = HIGH - FOOT;
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${HIGH}`, role: "img", "aria-label": `${chart.title}. ${chart.caption}` },
    ...values.map((value) => svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "grid" })),
    ...values.map((value) => svg("text", { x: LEFT - 6, y: y(value) + 4, class: "small", "text-anchor": "end" }, amount(value))),
    ...marks.map(([x, text]) => label(text, room, { x, y: foot + 16, class: "small", "text-anchor": x > width - 30 ? "end" : "middle" })),
    svg("line", { x1: LEFT, x2: width - RIGHT, y1: foot, y2: foot, class: "axis" }),
    label(words, width - LEFT, { x: (LEFT + width) / 2, y: HIGH - 6, class: "small", "text-anchor": "middle" }),
    ...drawn,
  );
}

/** @param {number} least @param {number} most @returns {(value: number) => number} */
function upwards(least, most) {
  return (value) => HIGH - FOOT - ((HIGH - FOOT - TOP) * (value - least)) / (most - least || 1);
}

/** Round numbers between. @param {number} least @param {number} most */
function ticks(least, most) {
  const size = 10 ** Math.floor(Math.log10(most - least || 1));
  const step = [0.1, 0.2, 0.25, 0.5, 1, 2].map((part) => part * size).find((one) => (most - least) / one <= 5) ?? size;
  const first = Math.ceil(least / step - 1e-9);
  return Array.from({ length: Math.floor(most / step + 1e-9) - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(6)));
}

/**
 * An axis of time from 0 on, in a unit in which its numbers are small.
 * @param {number} most
 * @param {number} width
 * @returns {[number, (when: number) => number, [number, string][], string]}
 */
function plainly(most, width) {
  const [size, unit] = UNITS.find(([each]) => most >= 2 * each) ?? [1, "seconds"];
  const x = (/** @type {number} */ when) => LEFT + ((width - LEFT - RIGHT) * when) / (most || 1);
  return [0, x, ticks(0, most / size).map((mark) => [mark * size, amount(mark)]), unit];
}

/**
 * A logarithmic axis that begins with 0.
 * @param {Curve[]} curves
 * @param {number} width
 * @returns {[number, (when: number) => number, [number, string][], string]}
 */
function logarithmic(curves, width) {
  const values = curves.flatMap(({ x }) => x.filter((value) => value > 0)).sort((a, b) => a - b);
  const most = (values.at(-1) ?? 10) * 1.05;
  // The smallest hundredth may be anything: it would take most of the axis.
  const seen = Math.max(values[Math.floor(values.length / 100)] ?? 1, most * 1e-6);
  const least = Math.min(MARKS.filter((mark) => mark <= seen).at(-1) ?? MARKS[0], most / 10);
  const [room, linear] = [width - LEFT - RIGHT, 0.08];
  const x = (/** @type {number} */ when) =>
    LEFT + room * (when <= least ? (linear * when) / least : linear + ((1 - linear) * Math.log(when / least)) / Math.log(most / least));
  const between = MARKS.filter((mark) => mark >= least && mark <= most);
  const shown = between.length > 6 ? between.filter((_, at) => at % 2 === 0) : between;
  return [0, x, [[0, "0"], ...shown.map((mark) => /** @type {[number, string]} */ ([mark, lasting(mark)]))], ""];
}

/** @param {number} seconds */
function lasting(seconds) {
  const [size, unit] = /** @type {const} */ ([[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [0.001, "ms"]]).find(([each]) => seconds >= each) ?? [1, "s"];
  return `${amount(seconds / size)} ${unit}`;
}
