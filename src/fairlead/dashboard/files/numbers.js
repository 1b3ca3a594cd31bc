// @ts-check
/** Numbers as people read them. */

const UNITS = /** @type {const} */ ([["Pi", 2 ** 50], ["Ti", 2 ** 40], ["Gi", 2 ** 30], ["Mi", 2 ** 20]]);

/** Below this a number is written as 1.9e-6: of more zeros nobody counts how many they are. */
const TINY = 1e-4;

/** A number with four digits, a tiny one with three. @param {number} value */
function digits(value) {
  return value && Math.abs(value) < TINY ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(4)));
}

/**
 * A share, with four digits.
 * @param {number | null | undefined} value
 */
export function share(value) {
  return value === null || value === undefined ? "–" : digits(value);
}

/**
 * An amount of a resource: with four digits, in binary units where it is that large.
 * @param {number} value
 */
export function amount(value) {
  const unit = UNITS.find(([, size]) => value >= size);
  const number = unit ? value / unit[1] : value;
  return `${digits(number)}${unit ? ` ${unit[0]}` : ""}`;
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
  return `${whole(count)} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
}

/** A number of things: whole ones are counted to the last. @param {number} count */
export function whole(count) {
  return Number.isSafeInteger(count) ? String(count) : amount(count);
}

/** So many times the middle value a scale reaches. */
const MIDDLE = 3;

/**
 * The greatest of these values, or less: where some are a hundred times what most are, a scale up to
 * the greatest shows nothing of the others. But what is looked at first is shown whole.
 * @param {number[]} values
 * @param {number[]} first of them
 */
export function readable(values, first) {
  const order = values.filter((each) => each > 0).sort((a, b) => a - b);
  const found = Math.max(Math.min(order.at(-1) ?? 0, MIDDLE * (order[order.length >> 1] ?? 0)), ...first);
  // Rounded up, so that not every bar is drawn anew whenever somebody's share moves a little.
  const digit = 10 ** (Math.floor(Math.log10(found || 1)) - 1);
  return Math.ceil(found / digit) * digit;
}
