// @ts-check
/** The paints of all tenants that were met so far: one that is met later changes nobody's. */

import { coloured } from "../colours.js";

/** @type {string[]} */
const names = [];
const known = new Set();
let made = coloured(names);

/**
 * The paint and the plain colour of these tenants and of all before them.
 * @param {Iterable<string>} more
 */
export function paints(more) {
  const before = names.length;
  for (const name of more) {
    if (!known.has(name)) {
      known.add(name);
      names.push(name);
    }
  }
  if (names.length > before || !made.patterns.isConnected) {
    made.patterns.remove();
    made = coloured(names);
    document.body.append(made.patterns);
  }
  return made;
}
