// @ts-check
/** Tables whose rows stay what they are while their contents change. */

import { html } from "../draw.js";

/**
 * @template Row
 * @typedef {{name: string, kind?: string, label?: string, cell: (row: Row) => import("../draw.js").Child}} Column
 *   `kind`: a class of the column's cells; `label`: what is said of it where its name is empty
 */

/**
 * A table, empty until `show` is called with its rows.
 * @template Row
 * @param {string} caption for those who do not see it
 * @param {Column<Row>[]} columns the first one names the row
 * @param {(row: Row) => string} keyOf
 * @param {string} [kind]
 */
export function table(caption, columns, keyOf, kind = "") {
  const body = html("tbody", { role: "rowgroup" });
  const empty = html("p", { class: "soft", hidden: true });
  const element = html(
    "div",
    { class: "wide" },
    html(
      "table",
      { role: "table", class: `live ${kind}`, "aria-label": caption },
      html(
        "thead",
        { role: "rowgroup" },
        html(
          "tr",
          { role: "row" },
          ...columns.map(({ name, kind: each, label }) =>
            html("th", { scope: "col", role: "columnheader", class: each, "aria-label": label }, name),
          ),
        ),
      ),
      body,
    ),
    empty,
  );
  /** @type {Map<string, {row: HTMLTableRowElement, text: string}>} */
  let known = new Map();

  /** @param {Row} row */
  const cells = (row) =>
    columns.map(({ cell, kind: each }, index) =>
      html(index ? "td" : "th", { scope: index ? null : "row", role: index ? "cell" : "rowheader", class: each }, cell(row)),
    );

  /**
   * Shows these rows; one that did not change stays as it is, with its focus.
   * @param {Row[]} rows
   * @param {string} [none] what is said where there are none
   */
  function show(rows, none = "There is nothing here.") {
    /** @type {typeof known} */
    const next = new Map();
    for (const row of rows) {
      const key = keyOf(row);
      const text = JSON.stringify(row);
      const before = known.get(key);
      if (before?.text === text) {
        next.set(key, before);
      } else {
        const held = before?.row ?? html("tr", { role: "row" });
        const focus = focusables(held).indexOf(/** @type {HTMLElement} */ (document.activeElement));
        held.replaceChildren(...cells(row));
        if (focus >= 0) focusables(held)[focus]?.focus();
        next.set(key, { row: held, text });
      }
    }
    const order = [...next.values()].map(({ row }) => row);
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    order.forEach((row, index) => {
      if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null);
    });
    if (focused !== document.activeElement && focused && body.contains(focused)) focused.focus();
    while (body.children.length > order.length) body.lastElementChild?.remove();
    known = next;
    empty.hidden = rows.length > 0;
    empty.textContent = rows.length ? "" : none;
  }
  return { element, show };
}

/** @param {HTMLElement} element */
function focusables(element) {
  return /** @type {HTMLElement[]} */ ([...element.querySelectorAll("a, button")]);
}
