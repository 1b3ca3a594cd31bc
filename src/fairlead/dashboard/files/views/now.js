// @ts-check
/** Now: a row for each tenant with what it holds beside what is fair, who is short first, and what
 * stops it. */

import { read } from "../live/ask.js";
import { swatch } from "../colours.js";
import { apartIn, html, renew, svg } from "../draw.js";
import { counted, readable, share } from "../numbers.js";
import { canRun } from "./can_run.js";
import { mayAsk } from "./jobs.js";
import { because, brief, lacking, where } from "./causes.js";
import { few } from "../picture.js";
import { paints } from "../live/paints.js";
import { remember } from "../live/remember.js";
import { table } from "../live/table.js";
import { clock } from "../live/times.js";

/**
 * @typedef {{name: string, parent?: string | null, running: number, waiting: number,
 *   share: number | null, fair: number | null, guaranteed: number | null, asked: number | null,
 *   shortfall: number | null}} Held
 * @typedef {import("../live/stream.js").Standing} Standing
 * @typedef {Held & {depth: number, below: number, open: boolean, tree: boolean, sentence: string, whole: string, job: string | null, most: number}} Row
 */

const WIDTH = 420;

/** Tenants of which all are shown at first, those below others too. */
const FEW = 30;

/** Rows that are shown at most. */
const MOST = 300;

/** Seconds until the next look: while the exact shares are behind, while sentences tell of seconds
 * that pass, and else. */
const BEHIND = 2;
const SHORT = 5;
const QUIET = 30;

/** @param {import("../live/main.js").Page} page @returns {import("../live/main.js").View} */
export function now(page) {
  const headline = html("p", { class: "headline" });
  const remark = html("p", { class: "soft" });
  /** @type {Set<string>} */
  const turned = new Set(); // opened, where all are closed at first; closed, where all are open
  /** @type {() => void} */
  let redraw = () => {};
  const shown = table(
    "Tenants with what they hold and what is fair, who is short first",
    [
      { name: "tenant", kind: "tenant", cell: (row) => named(row), key: ({ name, depth, below, open, tree }) => `${depth} ${below} ${open} ${tree} ${name}` },
      { name: "", label: "held, fair and asked for, drawn", kind: "bar", cell: bar, key: (row) => `${row.depth} ${places(row).join(" ")}` },
      { name: "held", kind: "number", cell: (row) => share(row.share) },
      { name: "fair", kind: "number", cell: (row) => share(row.fair) },
      { name: "short of", kind: "number", cell: (row) => short(row) },
      { name: "runs", kind: "number extra", cell: (row) => row.running },
      { name: "waits", kind: "number extra", cell: (row) => many(row.waiting) },
      { name: "why", kind: "why", cell: (row) => reason(row, mayAsk(page)), key: ({ sentence, whole, job }) => JSON.stringify([sentence, whole, job]) },
    ],
    (/** @type {Row} */ row) => `${row.parent === undefined}${row.name}`,
    "shares",
  );

  /** @param {import("../live/stream.js").Standing} found */
  function draw(found) {
    paints(found.tenants.map((/** @type {Held} */ each) => each.name));
    redraw = () => {
      const { rows, hidden } = rowsOf(found, turned);
      shown.show(rows, "There is no tenant and no job yet. Submit one with `fairlead submit`.");
      remark.textContent = [hidden, known(found)].filter(Boolean).join(" ");
    };
    redraw();
    const next = html("p", { class: "headline" }, ...summary(found));
    if (!headline.isEqualNode(next)) renew(headline, ...next.childNodes);
  }

  /** @param {Row} row */
  function named(row) {
    const fill = paints([row.name]).paint.get(row.name);
    const opener = row.below
      ? html(
          "button",
          {
            class: "opener",
            type: "button",
            "aria-expanded": String(row.open),
            "aria-label": `${counted(row.below, "tenant")} below ${row.name}`,
            onclick: () => {
              turned.has(row.name) ? turned.delete(row.name) : turned.add(row.name);
              redraw();
            },
          },
          row.open ? "▾" : "▸",
        )
      : row.tree
        ? html("span", { class: "opener" })
        : null;
    return html("span", { class: `named depth-${Math.min(row.depth, 4)}` }, opener, swatch(fill), html("span", {}, row.name));
  }

  return {
    title: "Now",
    element: html(
      "section",
      { class: "now" },
      canRun(page),
      html("h1", {}, "Now"),
      headline,
      html(
        "p",
        { class: "legend soft" },
        "Bar: held (cut where it is far longer). Line: exact fair share. Notch: guaranteed, in whole tasks. Hatched: asked for. Red: short of. Shares are divided by weights. Bars compare siblings: below a tenant they have a scale of their own.",
      ),
      shown.element,
      remark,
    ),
    stand: draw,
    async read(signal) {
      const [shares, audit] = await Promise.all([read("/v1/shares", { own: true }, signal), read("/v1/audit", {}, signal)]);
      const { tenants: checked, ...found } = audit;
      draw({ ...found, checked, tenants: shares.tenants, jobs: shares.jobs });
      if (shares.behind !== null) return BEHIND;
      return audit.shortfalls.length ? SHORT : QUIET;
    },
    /** The exact shares come a moment after what happened. */
    after: BEHIND,
  };
}

/**
 * By what is shared, and of when the exact shares are; beside who is short, who is not judged by them; why there
 * are none.
 * @param {{policy: string, exact: number | null, behind: string | null, problem: string | null, shortfalls: unknown[]}} found
 */
export function known({ policy, exact, behind, problem, shortfalls }) {
  const shares = exact === null ? "" : `, exact shares of ${clock(exact)}`;
  return `${[`Policy ${policy}${shares}`, shortfalls.length ? behind : null, problem].filter(Boolean).join("; ")}.`;
}

/**
 * What is to be said where nobody is known to be short: that all have what is guaranteed is said only where all
 * are judged.
 * @param {{exact: number | null, behind: string | null, checked: number}} found
 */
export function clear({ exact, behind, checked }) {
  const nobody = exact === null || (behind && !checked) ? "" : `nobody is short by the exact shares of ${clock(exact)}`;
  if (behind) return `${capital(behind)}${nobody && `; ${nobody}`}.`;
  return nobody ? `${capital(nobody)}: all hold what they are guaranteed.` : "The exact fair shares are not known yet.";
}

/** @param {string} text */
function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Who is short, of what, and why: to be read at a glance. Of whom it would not be true is counted beside.
 * @param {Standing} found
 */
function summary(found) {
  if (!(found.shortfalls.length + found.more)) return [clear(found)];
  const above = parentsOf(found);
  const short = found.shortfalls.filter((each) => !above.has(each.tenant));
  const [first] = short;
  const what = lacking(first).join();
  const alike = short.filter((each) => each.cause === first.cause && lacking(each).join() === what);
  const place = alike.every((each) => where(each) === where(first)) ? where(first) : lacking(first).join(" and ");
  const rest = short.length + found.more - alike.length;
  return [
    html("b", { class: "stops" }, few(alike.map((each) => each.tenant), 3)),
    alike.length === 1 ? " is short" : " are short",
    ...(place ? [" of ", html("b", {}, place)] : []),
    `: ${apartIn(because(first, undefined, alike.length > 1))}.`,
    ...(rest ? [" ", html("b", { class: "stops" }, `${rest} more`), rest === 1 ? " is short, for the reason beside it." : " are short, for the reasons beside them."] : []),
  ];
}

/**
 * Tenants that are short through one below them that is, which says why.
 * @param {Standing} found
 */
function parentsOf(found) {
  const short = new Set(found.shortfalls.map((each) => each.tenant));
  /** @type {Map<string, string>} */
  const through = new Map();
  for (const { name, parent } of found.tenants) {
    if (parent && short.has(name) && short.has(parent)) through.set(parent, name);
  }
  return through;
}

/**
 * Rows in their order: who is short of most first, those below others after them.
 * @param {Standing} found
 * @param {Set<string>} turned
 */
function rowsOf(found, turned) {
  /** @type {Map<string, any>} */
  const said = new Map([...found.below_fair, ...found.shortfalls].map((each) => [each.tenant, each]));
  /** @type {Held[]} */
  const own = found.jobs.map((job) => alone(job, said.get(job.name)));
  /** @type {Map<string | null | undefined, Held[]>} */
  const below = new Map();
  for (const each of found.tenants) {
    const known = below.get(each.parent);
    if (known) known.push(each);
    else below.set(each.parent, [each]);
  }
  const through = parentsOf(found);
  const all = found.tenants.length <= FEW;
  /** @type {Map<string, number[]>} */
  const ranks = new Map();
  /** @param {Held} each @returns {number[]} how short it is, or who is below it */
  const rank = (each) => {
    const known = ranks.get(each.name);
    if (known) return known;
    const theirs = (below.get(each.name) ?? []).map(rank);
    const found = theirs.reduce((most, one) => (compared(one, most) < 0 ? one : most), mineOnly(each));
    ranks.set(each.name, found);
    return found;
  };
  const tree = found.tenants.some(({ parent }) => parent);
  /** @type {Row[]} */
  const rows = [];
  /** @param {Held[]} some @param {number} depth */
  function walk(some, depth) {
    const keyed = some.map((each) => ({ each, key: each.parent === undefined ? mineOnly(each) : rank(each) }));
    const most = widest(some); // shares are divided by weights, which are among siblings
    keyed.sort((a, b) => compared(a.key, b.key) || (a.each.name < b.each.name ? -1 : 1));
    for (const { each } of keyed) {
      const under = each.parent === undefined ? [] : below.get(each.name) ?? [];
      const open = under.length > 0 && all !== turned.has(each.name);
      rows.push(rowOf(each, said.get(each.name), through.get(each.name), depth, under.length, open, tree, most));
      if (open) walk(under, depth + 1);
    }
  }
  walk([...(below.get(null) ?? []), ...own], 0);
  const hidden = rows.length > MOST ? `${rows.length - MOST} more rows are not shown.` : "";
  return { rows: rows.slice(0, MOST), hidden };
}

/**
 * A job without a tenant, as a tenant of its own.
 * @type {(job: any, said: any) => Held}
 */
const alone = remember((job, { guaranteed = null, shortfall = 0 } = {}) => ({
  ...job,
  parent: undefined,
  guaranteed,
  shortfall: job.fair === null ? null : shortfall,
}));

/** @type {(each: Held, said: import("./causes.js").Kept | undefined, through: string | undefined, depth: number, below: number, open: boolean, tree: boolean, most: number) => Row} */
const rowOf = remember((each, said, through, depth, below, open, tree, most) => {
  const kept = through === undefined ? said : undefined;
  const sentence = through === undefined ? why(each, kept) : `is short through ${through}`;
  return { ...each, depth, below, open, tree, most, sentence, whole: kept?.sentence ?? "", job: kept?.job ?? null };
});

/** How short it is itself: of what is guaranteed, of what is fair, and whether it waits. @param {Held} each */
function mineOnly(each) {
  return [each.shortfall ?? 0, (each.fair ?? 0) - (each.share ?? 0), each.waiting ? 1 : 0];
}

/** @param {number[]} one @param {number[]} other */
function compared(one, other) {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at < 0 ? 0 : other[at] - one[at];
}

/**
 * The share that the longest bar stands for; demand far beyond what is held or fair is cut off, and so
 * is who has far more than most.
 * @param {Held[]} rows
 */
function widest(rows) {
  const reaches = (/** @type {Held} */ each) => Math.max(each.share ?? 0, each.fair ?? 0);
  const held = readable(rows.map(reaches), rows.filter(({ shortfall }) => shortfall).map(reaches));
  const asked = Math.max(...rows.map((each) => each.asked ?? 0), 0);
  return Math.max(held, Math.min(asked, 1.5 * held || asked)) || 1;
}

/**
 * The sentence of the audit, where it has one; else what the numbers say.
 * @param {Held} each
 * @param {import("./causes.js").Kept | undefined} said
 */
function why(each, said) {
  if (said) return brief(said);
  if (!each.running && !each.waiting) return "asks for nothing";
  if (each.fair === null || each.share === null) return each.waiting ? "waits; its fair share is not known yet" : "";
  if (!each.waiting) return "has all that it asks for";
  // As it is shown: of two numbers that look alike none is more.
  const more = each.share > each.fair && share(each.share) !== share(each.fair);
  return more ? "holds more than is fair, and asks for more" : "has what is fair, and asks for more";
}

/** @param {Row} row @param {boolean} linked */
function reason(row, linked) {
  const shown = { class: "few-lines", title: row.whole || null };
  return row.job && linked ? html("a", { ...shown, href: `#why/${encodeURIComponent(row.job)}` }, apartIn(row.sentence)) : html("span", shown, apartIn(row.sentence));
}

/** @param {Row} row */
function short(row) {
  return row.shortfall ? html("b", { class: "stops" }, share(row.shortfall)) : "–";
}

/** @param {number} tasks */
function many(tasks) {
  return tasks >= 1e9 ? "∞" : tasks;
}

/**
 * Where on the bar are what it holds, is guaranteed, is fair, and asks for, to half a pixel.
 * @param {Row} row
 */
function places({ share: held, guaranteed, fair, asked, shortfall, most }) {
  return [held, shortfall ? guaranteed : held, guaranteed, fair, asked].map((value) => (value === null ? null : Math.round((2 * WIDTH * Math.min(value, 1.01 * most)) / most) / 2));
}

/** What the numbers beside it say, drawn. @param {Row} row */
function bar(row) {
  const [held, owed, guaranteed, fair, asked] = places(row);
  const line = (/** @type {number} */ x, /** @type {number} */ y1, /** @type {number} */ y2, /** @type {string} */ kind) => {
    const inside = Math.min(Math.max(x, 1.5), WIDTH - 1.5);
    return svg("line", { x1: inside, x2: inside, y1, y2, class: kind });
  };
  return svg(
    "svg",
    { class: `depth-${Math.min(row.depth, 4)}`, viewBox: `0 0 ${WIDTH} 26`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { y: 6, width: asked ?? 0, height: 14, fill: "url(#hatch)" }),
    svg("rect", { y: 6, width: held ?? 0, height: 14, fill: paints([row.name]).paint.get(row.name) }),
    owed !== null && owed > (held ?? 0) ? svg("rect", { x: held ?? 0, y: 6, width: owed - (held ?? 0), height: 14, class: "missing" }) : null,
    guaranteed ? line(guaranteed, 19, 25, "notch") : null,
    fair === null ? null : line(fair, 1, 25, "tick"),
    Math.max(held ?? 0, fair ?? 0) > WIDTH ? svg("path", { d: `M${WIDTH - 16} 4l-5 18h5l5-18z`, class: "cut" }) : null,
  );
}
