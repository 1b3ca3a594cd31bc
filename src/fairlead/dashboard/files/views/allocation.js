// @ts-check
/** The views of the exact allocation of what is present: water and bottlenecks. */

import { bottlenecks } from "../bottlenecks.js";
import { html } from "../draw.js";
import { water } from "../water.js";
import { Refused, read } from "../live/ask.js";
import { paints } from "../live/paints.js";
import { clock } from "../live/times.js";

/** Seconds between looks, at least, and how many times as long as an answer took: each shares the whole
 * cluster anew. */
const APART = 10;
const RESTS = 10;

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
  const drawing = html("div", { class: "drawing" });
  const remark = html("p", { class: "soft" }, "Sharing what is present …");
  let before = "";
  let next = 0;

  /** @param {{time: number, picture: import("../picture.js").Picture | null, problem: string | null}} found */
  function show({ time, picture, problem }) {
    const text = JSON.stringify(picture);
    if (text !== before) {
      before = text; // what is drawn stays as it is, with its slider, while nothing changes
      drawing.replaceChildren(...(picture ? [draw(picture)] : []));
    }
    remark.textContent = picture ? `What was present at ${clock(time)}, shared exactly.` : `There is nothing to share: ${problem ?? "no task is there"}.`;
  }

  return {
    title,
    element: html("section", {}, html("h1", {}, title), drawing, remark),
    async read(signal) {
      const asked = Date.now();
      if (asked < next) return (next - asked) / 1000;
      let retry = 0;
      try {
        show(await read("/v1/allocation", {}, signal));
      } catch (error) {
        if (!(error instanceof Refused) || error.status === 401) throw error;
        ({ retry } = error);
        remark.textContent = `Not shared${before ? " anew" : ""}: ${error.message}${retry ? `; trying again in ${retry} s` : ""}.`;
      }
      const now = Date.now();
      next = now + Math.max(1000 * (retry || APART), retry ? 0 : RESTS * (now - asked));
      return (next - now) / 1000;
    },
  };
}
