// @ts-check
/** The stream of events: what happens is heard at once, a service that is away is asked again at
 * growing intervals, and a page that nobody sees hears nothing. */

import { Away, Refused, request } from "./ask.js";

/**
 * @typedef {{seq: number, time: number, kind: string, job?: string, tenant?: string, task?: number,
 *   attempt?: number, machine?: string, back?: boolean, cause?: string, code?: number}} ServerEvent
 */

/** Events that are kept to be shown. */
const KEPT = 200;

/** Seconds without a sign of life (one comes every 15), after which a connection is given up. */
const SILENT = 50;

/** Seconds until the next try: the first, and the most. */
const FIRST = 1;
const LONGEST = 30;

/** Seconds between looks where there is no place for one more stream. */
const WITHOUT = 10;

/**
 * Follows the events until `stop` is called.
 * @param {{
 *   heard: (event: ServerEvent | null) => void,
 *   state: (sentence: string, away: boolean) => void,
 *   signedOut: () => void,
 * }} told `heard`: something happened, null: perhaps; `state`: what there is to say of the connection
 */
export function follow({ heard, state, signedOut }) {
  /** @type {ServerEvent[]} */
  const recent = [];
  /** @type {AbortController | null} */
  let open = null;
  /** @type {number | undefined} */
  let waiting;
  let last = "";
  let tries = 0;
  let stopped = false;

  async function connect() {
    clearInterval(waiting);
    if (stopped || open || document.hidden) return;
    const mine = (open = new AbortController());
    try {
      const path = last ? "/v1/events" : `/v1/events?since=-${KEPT}`;
      const headers = last ? { "Last-Event-ID": last } : undefined;
      const answer = await request("GET", path, { headers, signal: mine.signal });
      tries = 0;
      state("", false);
      heard(null); // whatever happened while nobody listened
      await listen(answer, mine);
      throw new Away("the stream ended");
    } catch (error) {
      if (open === mine) open = null;
      if (!mine.signal.aborted || !(error instanceof DOMException)) failed(error);
      else if (mine.signal.reason === SILENT) failed(new Away("silent"));
    }
  }

  /** @param {unknown} error */
  function failed(error) {
    if (stopped || document.hidden) return;
    if (error instanceof Refused && error.status === 401) {
      signedOut();
    } else if (error instanceof Refused && error.status === 429) {
      again(Math.max(WITHOUT, error.retry), () => "No place for one more live page; this one looks every 10 seconds.", false);
      heard(null);
    } else {
      const seconds = Math.min(LONGEST, FIRST * 2 ** tries) * (0.5 + Math.random());
      tries += 1;
      const why = error instanceof Refused ? `The service says: ${error.message}` : "The service is away";
      again(Math.max(seconds, error instanceof Refused ? error.retry : 0), (left) => `${why}; trying again in ${left} s.`, true);
    }
  }

  /**
   * @param {number} seconds
   * @param {(left: number) => string} sentence
   * @param {boolean} away
   */
  function again(seconds, sentence, away) {
    const until = Date.now() + 1000 * seconds;
    const tick = () => {
      const left = Math.ceil((until - Date.now()) / 1000);
      if (left <= 0) connect();
      else state(sentence(left), away);
    };
    clearInterval(waiting);
    waiting = setInterval(tick, 1000);
    tick();
  }

  /**
   * @param {Response} answer
   * @param {AbortController} mine
   */
  async function listen(answer, mine) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const silence = setTimeout(() => mine.abort(SILENT), 1000 * SILENT);
      const { value, done } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      blocks.forEach(take);
    }
  }

  /** @param {string} block */
  function take(block) {
    const fields = Object.fromEntries(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
    last = fields.id ?? last;
    if (!fields.data) return; // a sign of life
    if (fields.event === "gone") {
      last = String(JSON.parse(fields.data).since);
      heard(null);
      return;
    }
    /** @type {ServerEvent} */
    const event = JSON.parse(fields.data);
    recent.unshift(event);
    recent.length = Math.min(recent.length, KEPT);
    heard(event);
  }

  function seen() {
    if (document.hidden) {
      clearInterval(waiting);
      open?.abort();
      open = null;
    } else {
      tries = 0;
      connect();
    }
  }

  document.addEventListener("visibilitychange", seen);
  connect();
  return {
    recent,
    stop() {
      stopped = true;
      clearInterval(waiting);
      open?.abort();
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
