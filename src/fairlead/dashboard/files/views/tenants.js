// @ts-check
/** Tenants: what each is given, and by whom it is above. */

import { read } from "../live/ask.js";
import { html } from "../draw.js";
import { filters } from "../live/filters.js";
import { QUIET, tenant } from "./jobs.js";
import { pairs } from "./machines.js";
import { table } from "../live/table.js";

/**
 * @typedef {{name: string, parent: string | null, weight: string | null, pool: string[] | null,
 *   limit: Record<string, string>, user: string | null, jobs: number}} TenantRow
 */

const PAGE = 100;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function tenants(page) {
  const list = filters(page, [
    { name: "prefix", label: "name begins with" },
    { name: "parent", label: "below" },
    {
      name: "order",
      label: "order",
      choices: [
        ["", "by name"],
        ["jobs", "most jobs first"],
        ["weight", "heaviest first"],
      ],
    },
  ]);
  const shown = table(
    "Tenants",
    [
      { name: "tenant", kind: "word", cell: (/** @type {TenantRow} */ row) => tenant(row.name) },
      { name: "below", kind: "word", cell: (row) => row.parent ?? "–" },
      { name: "weight", kind: "number", cell: (row) => row.weight ?? "by pool" },
      { name: "jobs", kind: "number", cell: (row) => html("a", { href: `#jobs?tenant=${encodeURIComponent(row.name)}` }, row.jobs) },
      { name: "pool", kind: "soft said", cell: (row) => (row.pool ?? []).join(", ") || "–" },
      { name: "limit", kind: "soft said", cell: (row) => pairs(row.limit) || "–" },
      ...(page.me.role === "admin" ? [{ name: "user", kind: "soft extra", cell: (/** @type {TenantRow} */ row) => row.user ?? "–" }] : []),
    ],
    (row) => row.name,
  );
  return {
    title: "Tenants",
    element: html("section", {}, html("h1", {}, "Tenants"), html("p", { class: "soft" }, "Unfinished jobs are counted, of each tenant's own."), list.form, shown.element, list.pages),
    async read(signal) {
      const found = await read("/v1/tenants", { ...list.query(), limit: PAGE }, signal);
      shown.show(found.tenants, "There is no such tenant: a job without one is its own.");
      list.take(found.next);
      return QUIET;
    },
  };
}
