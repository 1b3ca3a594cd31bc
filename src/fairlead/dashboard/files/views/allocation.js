// @ts-check
/** The views of the exact allocation of what is present: water and bottlenecks. */

import { bottlenecks } from "../bottlenecks.js";
import { html } from "../draw.js";
import { water } from "../water.js";
import { read } from "../live/ask.js";
import { paints } from "../live/paints.js";
import { clock } from "../live/times.js";

/** Seconds between looks: an answer shares the whole cluster anew. */
const APART = 10;

/** @returns {import("../live/main.js").View} */
export function waterView() {
  return drawn("Water", (picture) => water(picture, paints(picture.drawn).paint));
}

/** @returns {import("../live/main.js").View} */
export function bottlenecksView() {
  return drawn("Bottlenecks", (picture) => {
    const { paint, colour } = paints(picture.drawn);
    return bottlenecks(picture, paint, colour, (like) => `#what-if?${new URLSearchParams({ add: `1 x ${like}` })}`);
  });
}

/**
 * @param {string} title
 * @param {(picture: import("../picture.js").Picture) => HTMLElement} draw
 * @returns {import("../live/main.js").View}
 */
function drawn(title, draw) {
  const drawing = html("div", { class: "drawing" }, html("h2", {}, title));
  const remark = html("p", { class: "soft" }, "Sharing what is present …");
  let before = "";
  let next = 0;
  return {
    title,
    element: html("section", {}, drawing, remark),
    async read(signal) {
      const wait = (next - Date.now()) / 1000;
      if (wait > 0) return wait;
      const { time, picture, problem } = await read("/v1/allocation", {}, signal);
      next = Date.now() + 1000 * APART;
      const text = JSON.stringify(picture);
      if (text !== before) {
        before = text; // what is drawn stays as it is, with its slider, while nothing changes
        drawing.replaceChildren(picture ? draw(picture) : html("h2", {}, title));
      }
      remark.textContent = picture ? `Of ${clock(time)}.` : `There is nothing to share: ${problem ?? "no task is there"}.`;
      return APART;
    },
  };
}
