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

/** So many times the middle value a scale reaches. */
const MIDDLE = 3;

/**
 * The greatest of these values, or less: where some are a hundred times what most are, a scale up to
 * the greatest shows nothing of the others.
 * @param {number[]} values
 */
export function readable(values) {
  const order = values.filter((each) => each > 0).sort((a, b) => a - b);
  const found = Math.min(order.at(-1) ?? 0, MIDDLE * (order[order.length >> 1] ?? 0));
  // Rounded up, so that not every bar is drawn anew whenever somebody's share moves a little.
  const digit = 10 ** (Math.floor(Math.log10(found || 1)) - 1);
  return Math.ceil(found / digit) * digit;
}
