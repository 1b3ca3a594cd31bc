// @ts-check
/** What keeps somebody from its share, in few words: the audit's values said shortly. Its sentence
 * says all. */

import { counted } from "../numbers.js";
import { short } from "../picture.js";

/**
 * @typedef {{tenant: string, job: string | null, cause: string, counts: Record<string, number>,
 *   lacking: Record<string, number>, able: number, machines: string, tasks?: number, sentence: string}} Kept
 */

/** Names that there is room for, and their letters: in a sentence, and in a cell of few lines, which
 * would else cut off how many tasks they run. There the place stands just before. */
const SENTENCE = { names: 3, letters: 24, there: " there" };
const CELL = { names: 1, letters: 13, there: "" };

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
 * The cause in few words, with of what and where: for a cell.
 * @param {Kept} kept
 */
export function brief(kept) {
  const place = where(kept);
  return `${place ? `waits for ${place}: ` : ""}${because(kept, CELL)}`;
}

/**
 * The cause in few words.
 * @param {Kept} kept
 * @param {typeof SENTENCE} [room]
 * @param {boolean} [several] it is told of several tenants, of whom this is the first
 */
export function because(kept, room = SENTENCE, several = false) {
  const names = Object.entries(kept.counts).sort(([, a], [, b]) => b - a);
  if (kept.cause === "held") return `${holders(names, room)}${room.there} beyond what is guaranteed`;
  if (kept.cause === "other_jobs") {
    const own = names.every(([name]) => name === kept.tenant);
    if (own) return `other jobs of its own have ${counted(sum(names), "task")} there too many`;
    const more = "jobs there have more than their part";
    return room === CELL ? `${more}: ${holders(names, room)}` : `${more} (${holders(names, room)}), mostly of tenants that in all have no more`;
  }
  if (kept.cause === "stopping") return `${counted(sum(names), "task")} there being stopped`;
  if (kept.cause === "pieces") return "what is left is in parts that hold no task";
  if (kept.cause === "unexplained") return `lacks ${counted(kept.tasks ?? 0, "task")}`;
  const at = kept.sentence.indexOf(": ");
  if (at < 0) return kept.sentence;
  // What follows is about the job, which the words before name.
  const whose = several ? ` of ${kept.tenant}` : "";
  const job = room === SENTENCE && kept.job ? `as for ${kept.job}${whose}, ` : "";
  return `${job}${kept.sentence.slice(at + 2)}`;
}

/** Who runs how many; with room for one name, who runs most, if one does. @param {[string, number][]} names @param {typeof SENTENCE} room */
function holders(names, room) {
  const most = room.names === 1 && names.length > 1 && names[0][1] > names[1][1];
  const shown = names.slice(0, room.names).map(([name, count], index) => `${short(name, room.letters)} ${index ? count : `runs ${most ? "most: " : ""}${counted(count, "task")}`}`);
  const rest = most ? 0 : sum(names.slice(room.names));
  return `${shown.join(", ")}${rest ? ` and others ${rest}` : ""}`;
}

/** @param {[string, number][]} names */
function sum(names) {
  return names.reduce((total, [, count]) => total + count, 0);
}
