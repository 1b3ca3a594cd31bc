// @ts-check
/**
 * What the views draw: `fairlead.picture/1`, as the service and the commands make it.
 *
 * @typedef {{machines: string, names: string, like: string, count: number, capacity: Record<string, number>, labels: string[]}} MachineClass
 * @typedef {{name: string, parent: string | null, weight: number, share: number, jobs: number,
 *   tasks: number, wants: boolean, stopped_by: string[]}} Tenant
 * @typedef {{share: number, stop: string[], tenants: string[], stopped_by: string,
 *   full: {class: number, resource: string, price: number}[]}} Level
 * @typedef {{class: number, tenant: string | null, tasks: number, amounts: Record<string, number[]>}} Fill
 * @typedef {{policy: string, exact: boolean, tasks: string, resources: string[],
 *   classes: MachineClass[], tenants: Tenant[], levels: Level[], fills: Fill[],
 *   drawn: string[], eligible: {tenant: string | null, class: number, wants: boolean}[], warnings: string[]}} Picture
 *
 * Tenants that are not `drawn` are one in the drawings: their name there is null.
 */

import { apart, beginning } from "./draw.js";

/** @param {string | null} tenant */
export function called(tenant) {
  return tenant ?? "others";
}

/** Letters of a name in a sentence, and names that it has room for. */
const LONGEST = 24;
const FEW = 5;

/** A name as sentences have it: of one that is long, its beginning. @param {string | null} tenant @param {number} [longest] */
export function short(tenant, longest = LONGEST) {
  const name = called(tenant);
  return apart(name.length > longest ? `${beginning(name, longest - 1)}…` : name);
}

/** Some names, and how many more there are. @param {(string | null)[]} tenants @param {number} [most] */
export function few(tenants, most = FEW) {
  const rest = tenants.length - most;
  return `${tenants.slice(0, most).map((tenant) => short(tenant)).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

/**
 * The resource to begin with: the one that most of what is full is full of; else the first, and none
 * where there are no machines.
 * @param {Picture} picture
 */
export function scarcest(picture) {
  /** @type {Map<string, number>} */
  const found = new Map(picture.resources.map((name) => [name, 0]));
  for (const level of picture.levels) {
    for (const { resource } of level.full) found.set(resource, (found.get(resource) ?? 0) + 1);
  }
  return [...found].reduce((best, each) => (each[1] > best[1] ? each : best), [picture.resources[0] ?? "", 0])[0];
}

/**
 * The highest price of each class, with what it is for and who would rise by it.
 * @param {Picture} picture
 * @returns {({price: number, resource: string, level: Level} | null)[]}
 */
export function prices(picture) {
  /** @type {({price: number, resource: string, level: Level} | null)[]} */
  const found = picture.classes.map(() => null);
  for (const level of picture.levels) {
    for (const { class: place, resource, price } of level.full) {
      const worth = price * (picture.classes[place].capacity[resource] ?? 0);
      const known = found[place];
      const before = known ? known.price * (picture.classes[place].capacity[known.resource] ?? 0) : -1;
      if (worth > before) found[place] = { price, resource, level };
    }
  }
  return found;
}
