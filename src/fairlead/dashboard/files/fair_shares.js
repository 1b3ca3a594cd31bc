// @ts-check
/** Fair shares: a row for each tenant with its share as a bar and what stops it. */

import { swatch } from "./colours.js";
import { html, svg } from "./draw.js";
import { amount, readable, share } from "./numbers.js";

const WIDTH = 420;
const FEW = 40;

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 */
export function fairShares(picture, paint) {
  const most = readable(
    picture.tenants.map((tenant) => tenant.share),
    picture.tenants.filter(({ wants }) => wants).map((tenant) => tenant.share),
  ) || 1;
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

  /** @param {{tenant: import("./picture.js").Tenant, depth: number}} each */
  function row({ tenant, depth }) {
    const fill = paint.get(tenant.name) ?? paint.get(null);
    return html(
      "tr",
      {},
      html("th", { scope: "row", class: `tenant depth-${Math.min(depth, 4)}` }, swatch(fill), tenant.name),
      html("td", { class: "bar" }, bar(tenant, most, fill)),
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
      `Policy ${picture.policy}, ${picture.tasks} tasks${picture.exact ? ", exact and proved" : ""}. A share is divided by the tenant's weight.${picture.tenants.some((tenant) => tenant.share > most) ? " Bars that are cut are longer." : ""}`,
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
 * @param {number} most
 * @param {string | undefined} fill
 */
function bar(tenant, most, fill) {
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: "none", role: "img", "aria-label": `${tenant.name} has share ${share(tenant.share)}` },
    svg("rect", { y: 6, width: (WIDTH * Math.min(tenant.share, most)) / most, height: 14, rx: 2, fill }),
    tenant.share > most ? svg("path", { d: `M${WIDTH - 16} 4l-5 18h5l5-18z`, class: "cut" }) : null,
  );
}

/**
 * Tenants with their depth, parents before children: who wants more first, then who has less.
 * @param {import("./picture.js").Picture} picture
 */
function inTree(picture) {
  /** @type {Map<string | null, import("./picture.js").Tenant[]>} */
  const below = new Map();
  for (const tenant of picture.tenants) {
    below.set(tenant.parent, [...(below.get(tenant.parent) ?? []), tenant]);
  }
  /** @type {{tenant: import("./picture.js").Tenant, depth: number}[]} */
  const found = [];
  /** @param {string | null} parent @param {number} depth */
  function walk(parent, depth) {
    const here = [...(below.get(parent) ?? [])].sort(
      (a, b) => Number(b.wants) - Number(a.wants) || a.share - b.share,
    );
    for (const tenant of here) {
      found.push({ tenant, depth });
      walk(tenant.name, depth + 1);
    }
  }
  walk(null, 0);
  return found;
}
