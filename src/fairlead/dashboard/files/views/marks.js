// @ts-check
/** Marks on the time line: what changed who gets what, as words and as lines of a drawing. */

import { apart, html, svg } from "../draw.js";
import { clock } from "../live/times.js";

/** @typedef {{time: number, last: number, kind: string, count: number, tenant: string | null,
 *   machine: string | null, weight: string | null}} Mark */

/** Marks that are listed. */
const LISTED = 8;

/** Of each kind, what is said of one and of several. */
export const SAID = {
  tasks_stopped: ["a task {of} was told to stop", "{n} tasks {of} were told to stop"],
  machines_joined: ["{machine} joined", "{n} machines joined"],
  machines_left: ["{machine} left", "{n} machines left"],
  machines_changed: ["{machine} changed", "{n} machines changed"],
  machines_drained: ["{machine} was drained", "{n} machines were drained"],
  machines_undrained: ["{machine} takes tasks again", "{n} machines take tasks again"],
  machines_quarantined: ["{machine} rests after failures", "{n} machines rest after failures"],
  quarantines_ended: ["{machine} rests no more", "{n} machines rest no more"],
  tenant_changed: ["{tenant} was changed{weight}", "{tenant} was changed {n} times{weight}"],
  service_started: ["the service started", "the service started {n} times"],
  core_changed: ["the policy or an option changed", "the policy or options changed {n} times"],
};

/** @param {Mark} mark */
export function said(mark) {
  const [one, several] = /** @type {Record<string, string[]>} */ (SAID)[mark.kind] ?? [mark.kind, `${mark.kind} {n}`];
  return (mark.count === 1 ? one : several)
    .replace("{n}", () => String(mark.count))
    .replace("{of} ", () => (mark.tenant ? `of ${apart(mark.tenant)} ` : ""))
    .replace("{machine}", () => mark.machine ?? "a machine")
    .replace("{tenant}", () => apart(mark.tenant ?? "tenants"))
    .replace("{weight}", () => (mark.weight === null ? "" : `, weight ${mark.weight}`));
}

/** Whether it is about the tenant, or about nobody. @param {Mark} mark @param {string} tenant */
export function concerns(mark, tenant) {
  return mark.tenant === null || mark.tenant === tenant;
}

/**
 * Lines of these marks, one path for all of them.
 * @param {Mark[]} marks
 * @param {(when: number) => number} x
 * @param {number} high
 */
export function lines(marks, x, high) {
  const places = new Set(marks.map(({ time }) => Math.round(x(time)) + 0.5));
  const d = [...places].map((at) => `M${at} 0V${high}`).join("");
  return d ? svg("path", { d, class: "event" }) : null;
}

/**
 * The marks nearest to a moment, or the newest of all where there is none, each of which is a moment to choose.
 * @param {Mark[]} marks
 * @param {number | null} when
 * @param {(when: number) => void} choose
 */
export function listed(marks, when, choose) {
  const order = when === null ? [...marks].reverse() : [...marks].sort((a, b) => Math.abs(a.time - when) - Math.abs(b.time - when));
  const shown = order.slice(0, LISTED).sort((a, b) => b.time - a.time);
  if (!shown.length) return [html("p", { class: "soft" }, "Nothing is marked in this time: no task was stopped, no machine and no weight changed.")];
  const rest = marks.length - shown.length;
  return [
    html("h2", {}, when === null ? "What changed last" : "What changed around then"),
    html("ul", { class: "marks" }, ...shown.map((mark) => html("li", {}, html("button", { type: "button", class: "time", "data-thing": [mark.kind, mark.time, mark.machine, mark.tenant].join(" "), "aria-pressed": String(mark.time === when), onclick: () => choose(mark.time) }, clock(mark.time)), ` ${said(mark)}`))),
    rest ? html("p", { class: "soft" }, `${rest} more ${rest === 1 ? "mark" : "marks"} in this time.`) : null,
  ].filter((each) => each !== null);
}
