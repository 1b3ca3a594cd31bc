// @ts-check
/** What a list is filtered by, and its pages: the service filters, sorts and parts, nothing here does. */

import { html } from "../draw.js";

/**
 * A field of a filter: a choice (`choices`, texts with what is shown) or a text.
 * @typedef {{name: string, label: string, choices?: [string, string][]}} Field
 */

/**
 * The form of a list's filters with its pages. `query` gives what to ask for; `take` is told the
 * cursor of the next page.
 * @param {import("./main.js").Page} page
 * @param {Field[]} fields
 */
export function filters(page, fields) {
  /** @type {string[]} */
  let cursors = []; // of the pages up to this one, the first has none
  let next = "";
  /** @type {Record<string, string>} */
  const chosen = Object.fromEntries(fields.map(({ name }) => [name, page.query.get(name) ?? ""]));

  /** @param {string} name @param {string} value */
  function choose(name, value) {
    chosen[name] = value;
    cursors = [];
    page.put(chosen);
    page.again();
  }

  const back = html("button", { type: "button", hidden: true, onclick: () => turn(-1) }, "Previous page");
  const on = html("button", { type: "button", hidden: true, onclick: () => turn(1) }, "Next page");

  /** @param {number} way */
  function turn(way) {
    if (way > 0) cursors.push(next);
    else cursors.pop();
    page.again();
  }

  return {
    form: html(
      "form",
      { class: "filters", role: "search", onsubmit: (/** @type {Event} */ event) => event.preventDefault() },
      ...fields.map(({ name, label, choices }) => html("label", {}, `${label} `, choices ? select(name, choices) : text(name))),
    ),
    pages: html("p", { class: "pages" }, back, on),
    query: () => ({ ...chosen, cursor: cursors.at(-1) }),
    /** @param {string | null} cursor */
    take(cursor) {
      next = cursor ?? "";
      back.hidden = !cursors.length;
      on.hidden = !next;
    },
  };

  /** @param {string} name @param {[string, string][]} choices */
  function select(name, choices) {
    const element = html(
      "select",
      { onchange: () => choose(name, element.value) },
      ...choices.map(([value, shown]) => html("option", { value, selected: value === chosen[name] }, shown)),
    );
    return element;
  }

  /** @param {string} name */
  function text(name) {
    const element = html("input", {
      type: "search",
      value: chosen[name],
      maxlength: 250,
      autocapitalize: "off",
      spellcheck: "false",
      oninput: () => choose(name, element.value),
    });
    return element;
  }
}
