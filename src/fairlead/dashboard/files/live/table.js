// @ts-check
/** Tables whose rows stay what they are while their contents change. */

import { focusOf, html } from "../draw.js";

/**
 * @template Row
 * @typedef {{name: string, kind?: string, label?: string, cell: (row: Row) => import("../draw.js").Child,
 *   key?: (row: Row) => string}} Column
 *   `kind`: a class of the column's cells; `label`: what is said of it where its name is empty; `key`:
 *   all that the cell shows of the row; it stays as it is while that is the same
 */

/** @template Row @typedef {{row: Row, text: string, line: HTMLTableRowElement, cells: (string | null)[]}} Known */

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
  /** @type {Map<string, Known<Row>>} */
  let known = new Map();

  /** @param {Row} row @returns {Known<Row>} */
  function made(row) {
    const cells = columns.map(({ name, kind: each }, index) =>
      html(index ? "td" : "th", { scope: index ? null : "row", role: index ? "cell" : "rowheader", class: each, "data-name": index || each === "number" ? name || null : null }),
    );
    return { row, text: "", line: html("tr", { role: "row" }, ...cells), cells: columns.map(() => null) };
  }

  /**
   * Fills the cells in which something else is to be seen.
   * @param {Known<Row>} one
   * @param {Row} row
   */
  function fill(one, row) {
    const back = focusOf(one.line);
    columns.forEach(({ cell, key }, index) => {
      const content = key ? null : cell(row);
      const shown = key ? key(row) : content instanceof Node ? null : String(content || content === 0 ? content : "");
      if (shown !== null && shown === one.cells[index]) return;
      one.cells[index] = shown;
      const child = key ? cell(row) : content;
      one.line.children[index].replaceChildren(child instanceof Node ? child : (shown ?? ""));
    });
    back();
  }

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
      const before = known.get(key) ?? made(row);
      next.set(key, before);
      if (before.row === row && before.text) continue;
      const text = JSON.stringify(row);
      before.row = row;
      if (before.text === text) continue;
      before.text = text;
      fill(before, row);
    }
    const order = [...next.values()].map(({ line }) => line);
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    order.forEach((row, index) => {
      if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null);
    });
    if (focused !== document.activeElement && focused && body.contains(focused)) focused.focus({ preventScroll: true });
    while (body.children.length > order.length) body.lastElementChild?.remove();
    known = next;
    empty.hidden = rows.length > 0;
    empty.textContent = rows.length ? "" : none;
  }
  return { element, show };
}
