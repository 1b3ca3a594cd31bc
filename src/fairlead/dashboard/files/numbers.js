// @ts-check
/** Numbers as people read them. */

const UNITS = /** @type {const} */ ([["Pi", 2 ** 50], ["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20]]);

/**
 * A share, with four digits.
 * @param {number | null | undefined} value
 */
export function share(value) {
  return value === null || value === undefined ? "–" : String(Number(value.toPrecision(4)));
}

/**
 * An amount of a resource: with four digits, in binary units where it is that large.
 * @param {number} value
 */
export function amount(value) {
  const unit = UNITS.find(([, size]) => value >= size);
  const number = unit ? value / unit[1] : value;
  return `${Number(number.toPrecision(4))}${unit ? ` ${unit[0]}` : ""}`;
}

/**
 * A part in percent.
 * @param {number} value
 */
export function percent(value) {
  return `${Number((100 * value).toPrecision(3))}%`;
}

/**
 * `1 job`, `2 jobs`.
 * @param {number} count
 * @param {string} word
 */
export function counted(count, word) {
  return `${amount(count)} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
}
