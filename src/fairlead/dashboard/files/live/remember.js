// @ts-check
/** What was made once is not made again while it is made of the same. */

/**
 * The function, which gives what it gave before for the same first argument while the others are the
 * same, too.
 * @template {object} First
 * @template {unknown[]} Rest
 * @template Value
 * @param {(first: First, ...rest: Rest) => Value} make
 */
export function remember(make) {
  /** @type {WeakMap<First, {rest: Rest, value: Value}>} */
  const known = new WeakMap();
  /** @param {First} first @param {Rest} rest */
  return (first, ...rest) => {
    const before = known.get(first);
    if (before?.rest.every((one, index) => one === rest[index])) return before.value;
    const value = make(first, ...rest);
    known.set(first, { rest, value });
    return value;
  };
}
