// @ts-check
/** Fair shares: a row for each tenant with its share as a bar and what stops it. */

import { swatch } from "./colours.js";
import { html, svg } from "./draw.js";
import { amount, readable, share } from "./numbers.js";

const WIDTH = 420;
const FEW = 40;

/** @typedef {{tenant: import("./picture.js").Tenant, depth: number, most: number}} Row most: the share that the longest bar among its siblings stands for */

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 */
export function fairShares(picture, paint) {
  const all = inTree(picture);
  const body = html("tbody", {}, ...all.slice(0, FEW).map(row));
  const more = html(
    "button",
    {
      onclick: () => {
        body.append(...all.slice(FEW).map(row));
        more.remove();
      },
    },
    `Show ${all.length - FEW} more`,
  );

  /** @param {Row} each */
  function row({ tenant, depth, most }) {
    const fill = paint.get(tenant.name) ?? paint.get(null);
    return html(
      "tr",
      {},
      html("th", { scope: "row", class: `tenant depth-${Math.min(depth, 4)}` }, swatch(fill), tenant.name),
      html("td", { class: "bar" }, bar(tenant, depth, most, fill)),
      html("td", { class: "number" }, share(tenant.share)),
      html("td", { class: "number" }, amount(tenant.weight)),
      html("td", { class: "number" }, amount(tenant.tasks)),
      html("td", { class: "why" }, html("div", { class: "few-lines", title: tenant.stopped_by.join("; ") }, tenant.stopped_by.slice(0, 4).join("; "))),
    );
  }
  return html(
    "section",
    { class: "shares" },
    html("h2", {}, "Fair shares"),
    html(
      "p",
      { class: "soft" },
      `Policy ${picture.policy}, ${picture.tasks} tasks${picture.exact ? ", exact and proved" : ""}. A share is divided by the tenant's weight.${all.some(({ depth }) => depth) ? " Bars compare siblings: below a tenant they have a scale of their own." : ""}${all.some(({ tenant, most }) => tenant.share > most) ? " Bars that are cut are longer." : ""}`,
    ),
    html(
      "div",
      { class: "wide", tabindex: 0, role: "region", "aria-label": "fair shares" },
      html(
        "table",
        { class: "fair" },
        html(
          "thead",
          {},
          html("tr", {}, ...["tenant", "", "share", "weight", "tasks", "stopped by"].map((name, index) => html("th", { scope: "col", class: index > 1 && index < 5 ? "number" : null }, name))),
        ),
        body,
      ),
    ),
    all.length > FEW ? more : null,
  );
}

/**
 * @param {import("./picture.js").Tenant} tenant
 * @param {number} depth
 * @param {number} most
 * @param {string | undefined} fill
 */
function bar(tenant, depth, most, fill) {
  return svg(
    "svg",
    { class: `depth-${Math.min(depth, 4)}`, viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: "none", role: "img", "aria-label": `${tenant.name} has share ${share(tenant.share)}` },
    svg("rect", { y: 6, width: (WIDTH * Math.min(tenant.share, most)) / most, height: 14, rx: 2, fill }),
    tenant.share > most ? svg("path", { d: `M${WIDTH - 16} 4l-5 18h5l5-18z`, class: "cut" }) : null,
  );
}

/**
 * Tenants with their depth, parents before children: who wants more first, then who has less. Weights are among
 * siblings, and so are shares, which are divided by them: each siblings' bars have a scale of their own.
 * @param {import("./picture.js").Picture} picture
 */
function inTree(picture) {
  /** @type {Map<string | null, import("./picture.js").Tenant[]>} */
  const below = new Map();
  for (const tenant of picture.tenants) {
    below.set(tenant.parent, [...(below.get(tenant.parent) ?? []), tenant]);
  }
  /** @type {Row[]} */
  const found = [];
  /** @param {string | null} parent @param {number} depth */
  function walk(parent, depth) {
    const here = [...(below.get(parent) ?? [])].sort(
      (a, b) => Number(b.wants) - Number(a.wants) || a.share - b.share,
    );
    const most = readable(
      here.map((tenant) => tenant.share),
      here.filter(({ wants }) => wants).map((tenant) => tenant.share),
    ) || 1;
    for (const tenant of here) {
      found.push({ tenant, depth, most });
      walk(tenant.name, depth + 1);
    }
  }
  walk(null, 0);
  return found;
}
