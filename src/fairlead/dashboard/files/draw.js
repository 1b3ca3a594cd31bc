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

/** What can have the focus. */
const FOCUSED = "a, button, input, select, textarea, summary, [tabindex='0']";

/** What can have the focus in an element, in its order. @param {Element} element */
export function focusables(element) {
  return /** @type {(HTMLElement | SVGElement)[]} */ ([...element.querySelectorAll(FOCUSED)]);
}

/** What it is that can have the focus: the same thing where this is the same. @param {Element} element */
function thing(element) {
  const said = element.getAttribute("aria-label") ?? element.textContent;
  return [element.tagName, element.getAttribute("href"), element.getAttribute("data-thing") ?? said].join(" ");
}

/**
 * Notes what has the focus in the element. What is returned gives it back to the same thing once the element holds
 * something else, wherever that stands then; where it is gone, to what stands at its place.
 * @param {Element} element
 */
export function focusOf(element) {
  const before = focusables(element);
  const place = before.findIndex((each) => each === document.activeElement);
  if (place < 0) return () => {};
  const what = thing(before[place]);
  const turn = before.slice(0, place).filter((each) => thing(each) === what).length;
  return () => {
    const now = focusables(element);
    const same = now.filter((each) => thing(each) === what);
    (same[turn] ?? same.at(-1) ?? now[Math.min(place, now.length - 1)])?.focus({ preventScroll: true });
  };
}

/**
 * Puts these into the element in place of what it holds; what had the focus there has it again.
 * @param {Element} element
 * @param {...(Node | string)} children
 */
export function renew(element, ...children) {
  const back = focusOf(element);
  element.replaceChildren(...children);
  back();
}

/** What measures texts of drawings, in the font of the page. */
const ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/** Pixels of a name's letters, and of others by their class: as the style has them. */
const NAME = 13;
/** @type {Record<string, number>} */
const SIZES = { small: 11.5, inside: 12 };

/** Letters without which a name that was cut says nothing. */
const LEAST = 4;

/** How long a text of a drawing is, by its class. @param {string} text @param {string} kind */
export function long(text, kind) {
  ruler.font = `${SIZES[kind] ?? NAME}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * A name for the midst of a text. One that is written from right to left is set apart: a number
 * behind it would else stand before it, as if it were of the name before.
 * @param {string} name
 */
export function apart(name) {
  return RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name;
}

const PART = "[^\\s,;:()\\[\\]{}\"'`]";
const WORD = `${PART}*${RIGHT_TO_LEFT.source}(?:${PART}*[\\p{L}\\p{N}\\p{M}_])?`;
const NAMES = new RegExp(`${WORD}(?: ${WORD})*`, "gu");

/** A sentence of the service with such names set apart in it. @param {string} sentence */
export function apartIn(sentence) {
  return RIGHT_TO_LEFT.test(sentence) ? sentence.replace(NAMES, "\u2068$&\u2069") : sentence;
}

/** The beginning of a text, no half of a letter at its end. @param {string} text @param {number} length */
export function beginning(text, length) {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
}

/**
 * A text of a drawing, cut where it would leave its room, and left out where next to nothing of it
 * has room; the whole of it is told on hovering.
 * @param {string} text
 * @param {number} width
 * @param {Record<string, unknown>} attributes
 */
export function label(text, width, attributes) {
  const kind = String(attributes.class);
  let shown = text;
  while (shown && long(shown, kind) > width) {
    const room = Math.floor((shown.length * width) / long(shown, kind));
    shown = room > LEAST ? `${beginning(text, Math.min(room, shown.length - 1) - 1)}…` : "";
  }
  return shown ? svg("text", attributes, shown, shown === text ? null : svg("title", {}, text)) : null;
}

const [NARROW, WIDE] = [300, 1300];

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
