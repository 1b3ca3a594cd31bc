// @ts-check
/** What keeps somebody from its share, in few words: the audit's values said shortly. Its sentence
 * says all. */

import { counted } from "../numbers.js";
import { short } from "../picture.js";

/**
 * @typedef {{tenant: string, job: string | null, cause: string, counts: Record<string, number>,
 *   lacking: Record<string, number>, able: number, machines: string, tasks?: number, sentence: string}} Kept
 */

/** Names that there is room for. */
const NAMED = 3;

/**
 * The resources that are lacking on most machines: what somebody is short of.
 * @param {Kept} kept
 */
export function lacking({ lacking: found }) {
  const most = Math.max(...Object.values(found), 0);
  return Object.keys(found).filter((name) => found[name] === most);
}

/**
 * Of what and where, as "gpu on h[01-03]" or "gpu on 300 machines"; nothing where that is not why.
 * @param {Kept} kept
 */
export function where(kept) {
  const what = lacking(kept);
  return what.length ? `${what.join(" and ")} on ${kept.machines || counted(kept.able, "machine")}` : "";
}

/**
 * The cause in few words, with of what and where.
 * @param {Kept} kept
 */
export function brief(kept) {
  const place = where(kept);
  return `${place ? `waits for ${place}: ` : ""}${because(kept)}`;
}

/**
 * The cause in few words.
 * @param {Kept} kept
 */
export function because(kept) {
  const names = Object.entries(kept.counts).sort(([, a], [, b]) => b - a);
  if (kept.cause === "held") return `${holders(names)} there beyond what is guaranteed`;
  if (kept.cause === "other_jobs") {
    const own = names.every(([name]) => name === kept.tenant);
    return own ? `other jobs of its own have ${counted(sum(names), "task")} there too many` : `jobs there have more than their part (${holders(names)}), mostly of tenants that in all have no more`;
  }
  if (kept.cause === "stopping") return `${counted(sum(names), "task")} there being stopped`;
  if (kept.cause === "pieces") return "what is left is in parts that hold no task";
  if (kept.cause === "unexplained") return `lacks ${counted(kept.tasks ?? 0, "task")}`;
  const at = kept.sentence.indexOf(": ");
  return at < 0 ? kept.sentence : kept.sentence.slice(at + 2);
}

/** @param {[string, number][]} names */
function holders(names) {
  const shown = names.slice(0, NAMED).map(([name, count], index) => `${short(name)} ${index ? count : `runs ${counted(count, "task")}`}`);
  const rest = sum(names.slice(NAMED));
  return `${shown.join(", ")}${rest ? ` and others ${rest}` : ""}`;
}

/** @param {[string, number][]} names */
function sum(names) {
  return names.reduce((total, [, count]) => total + count, 0);
}
