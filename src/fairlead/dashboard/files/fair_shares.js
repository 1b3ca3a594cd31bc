// @ts-check
/** Fair shares: a row for each tenant with its share as a bar and what stops it. */

import { places, swatches } from "./colours.js";
import { html, svg } from "./draw.js";
import { amount, readable, share } from "./numbers.js";

const WIDTH = 420;
const FEW = 40;

/** The part of a share that sums of doubles may lack. */
const TRIFLE = 1e-6;

/** @typedef {{name: string, fill: string | undefined, size: number}} Part of a tenant's share: the jobs of one tenant, its own or one below it */
/** @typedef {{tenant: import("./picture.js").Tenant, depth: number, most: number, parts: Part[]}} Row most: the share that the longest bar among its siblings stands for */

/**
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 */
export function fairShares(picture, paint) {
  const all = inTree(picture, paint);
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
  function row({ tenant, depth, most, parts }) {
    return html(
      "tr",
      {},
      html("th", { scope: "row", class: `tenant depth-${Math.min(depth, 4)}` }, swatches(parts), tenant.name),
      html("td", { class: "bar" }, bar(tenant, depth, most, parts)),
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
      `Policy ${picture.policy}, ${picture.tasks} tasks${picture.exact ? ", exact and proved" : ""}. A share is divided by the tenant's weight.${all.some(({ depth }) => depth) ? " Bars compare siblings: below a tenant they have a scale of their own, and the bar of who is above them has their colours, by what each adds to it." : ""}${all.some(({ tenant, most }) => tenant.share > most) ? " Bars that are cut are longer." : ""}`,
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
 * @param {Part[]} parts
 */
function bar(tenant, depth, most, parts) {
  const whole = (WIDTH * Math.min(tenant.share, most)) / most;
  return svg(
    "svg",
    { class: `depth-${Math.min(depth, 4)}`, viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: "none", role: "img", "aria-label": `${tenant.name} has share ${share(tenant.share)}` },
    ...places(parts, whole).map(({ name, fill, at, width }) =>
      svg("rect", { x: at, y: 6, width, height: 14, rx: parts.length > 1 ? 0 : 2, fill }, parts.length > 1 ? svg("title", {}, name) : null),
    ),
    tenant.share > most ? svg("path", { d: `M${WIDTH - 16} 4l-5 18h5l5-18z`, class: "cut" }) : null,
  );
}

/**
 * Tenants with their depth, parents before children: who wants more first, then who has less. Weights are among
 * siblings, and so are shares, which are divided by them: each siblings' bars have a scale of their own.
 * @param {import("./picture.js").Picture} picture
 * @param {Map<string | null, string>} paint
 */
function inTree(picture, paint) {
  /** @type {Map<string | null, import("./picture.js").Tenant[]>} */
  const below = new Map();
  for (const tenant of picture.tenants) {
    below.set(tenant.parent, [...(below.get(tenant.parent) ?? []), tenant]);
  }
  /** @type {Row[]} */
  const found = [];
  /**
   * A tenant's share times its weight is what those below it, and its own jobs, have so together.
   * @param {import("./picture.js").Tenant} tenant @returns {Part[]} never none
   */
  function partsOf(tenant) {
    const whole = tenant.share * tenant.weight;
    const fill = paint.get(tenant.name) ?? paint.get(null);
    const theirs = (below.get(tenant.name) ?? []).flatMap(partsOf).filter(({ size }) => size > 0);
    const own = whole - theirs.reduce((sum, { size }) => sum + size, 0);
    return theirs.length && own < TRIFLE * whole ? theirs : [...theirs, { name: tenant.name, fill, size: own }];
  }
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
      found.push({ tenant, depth, most, parts: partsOf(tenant) });
      walk(tenant.name, depth + 1);
    }
  }
  walk(null, 0);
  return found;
}
