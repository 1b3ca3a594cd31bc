// @ts-check
/** The views of the exact allocation of what is present: water and bottlenecks. */

import { bottlenecks } from "../bottlenecks.js";
import { focusOf, html } from "../draw.js";
import { water } from "../water.js";
import { Refused, read } from "../live/ask.js";
import { paints } from "../live/paints.js";
import { clock, lasting } from "../live/times.js";

/** Seconds between looks, at least: the service shares the whole cluster for all who look, and rests as long as that took. */
const APART = 10;

/** @returns {import("../live/main.js").View} */
export function waterView() {
  const looked = {};
  return drawn("Water", (picture) => water(picture, paints(picture.drawn).paint, looked));
}

/** @returns {import("../live/main.js").View} */
export function bottlenecksView() {
  const looked = {};
  return drawn("Bottlenecks", (picture) => {
    const { paint, colour } = paints(picture.drawn);
    return bottlenecks(picture, paint, colour, (like) => `#what-if?${new URLSearchParams({ add: `1 x ${like}` })}`, looked);
  });
}

/**
 * @param {string} title
 * @param {(picture: import("../picture.js").Picture) => HTMLElement} draw
 * @returns {import("../live/main.js").View}
 */
function drawn(title, draw) {
  const drawing = html("div", { class: "drawing" });
  const remark = html("p", { class: "soft" });
  let before = "";
  const begun = Date.now();
  let next = 0;

  /** @param {{time: number, picture: import("../picture.js").Picture | null, problem: string | null}} found */
  function show({ time, picture, problem }) {
    const text = JSON.stringify(picture);
    if (text !== before) {
      before = text; // what is drawn stays as it is while nothing changes
      const back = focusOf(drawing);
      drawing.replaceChildren(...(picture ? [draw(picture)] : []));
      drawnThen(back);
    }
    remark.textContent = picture ? `What was present at ${clock(time)}, shared exactly.` : `There is nothing to share: ${problem ?? "no task is there"}.`;
  }

  /** That it is being worked out, and for how long, while there is nothing to be seen. */
  function count() {
    if (before) return;
    const passed = (Date.now() - begun) / 1000;
    const long = passed < 2 ? "" : `, for ${lasting(passed)} now`;
    remark.textContent = `What is present is being shared exactly${long}; with thousands of jobs, or of machines, that can take a minute or two. It is drawn here when it is done.`;
  }

  count();
  return {
    title,
    element: html("section", {}, html("h1", {}, title), drawing, remark),
    async read(signal) {
      const early = next - Date.now();
      if (early > 0) return early / 1000;
      let retry = 0;
      const counting = setInterval(count, 1000);
      try {
        show(await read("/v1/allocation", {}, signal));
      } catch (error) {
        if (!(error instanceof Refused) || error.status === 401) throw error;
        ({ retry } = error);
        remark.textContent = `Not shared ${before ? "anew" : "yet"}: ${error.message}${retry ? `; trying again in ${retry} s` : ""}.`;
      } finally {
        clearInterval(counting);
      }
      next = Date.now() + 1000 * (retry || APART);
      return retry || APART;
    },
  };
}

/** Calls it when what was put into the page is drawn: its width is known a frame later. @param {() => void} call */
function drawnThen(call) {
  requestAnimationFrame(() => requestAnimationFrame(call));
}
