// @ts-check
/** The page of one allocation: its data stand in the page itself. */

import { bottlenecks } from "./bottlenecks.js";
import { coloured } from "./colours.js";
import { html } from "./draw.js";
import { fairShares } from "./fair_shares.js";
import { water } from "./water.js";

/** @type {import("./picture.js").Picture} */
const shown = JSON.parse(document.getElementById("data")?.textContent ?? "null");
const { paint, colour, patterns } = coloured(shown.drawn);
document.querySelector("main")?.append(
  patterns,
  ...shown.warnings.map((warning) => html("p", { class: "warning" }, warning)),
  fairShares(shown, paint),
  water(shown, paint),
  bottlenecks(shown, paint, colour),
);
