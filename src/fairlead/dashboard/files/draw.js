// @ts-check
/** Elements of the page. What people wrote becomes text and is never read as markup. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element of HTML with attributes (`on…`: what listens) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  furnish(element, attributes, children);
  return element;
}

/**
 * An element of SVG.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  furnish(element, attributes, children);
  return element;
}

/**
 * @param {Element} element
 * @param {Record<string, unknown>} attributes
 * @param {Child[]} children
 */
function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(
    ...children
      .filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => (child instanceof Node ? child : String(child))),
  );
}

/**
 * A text of a drawing, cut where it would leave its room; the whole of it is told on hovering.
 * @param {string} text
 * @param {number} width
 * @param {Record<string, unknown>} attributes
 */
export function label(text, width, attributes) {
  const most = Math.floor(width / 7.3); // so wide is a letter of 13 pixels
  const shown = text.length <= most ? text : `${text.slice(0, Math.max(most - 1, 0))}…`;
  return most < 2
    ? null
    : svg("text", attributes, shown, shown === text ? null : svg("title", {}, text));
}

const [NARROW, WIDE] = [300, 880];

/**
 * Draws when the element has a width, and again when it has another one: on a telephone a drawing
 * is laid out anew and not made smaller.
 * @param {Element} element
 * @param {(width: number) => void} draw
 */
export function fitted(element, draw) {
  let last = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(Math.min(Math.max(contentRect.width, NARROW), WIDE));
    if (width !== last) draw((last = width));
  }).observe(element);
}
