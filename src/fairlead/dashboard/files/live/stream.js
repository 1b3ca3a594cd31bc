// @ts-check
/** The stream of updates: that something happened is heard once a second at most, and by who wants
 * them shares with it; a service that is away is asked again at growing intervals, and a page that
 * nobody sees hears nothing. */

import { Away, Refused, request } from "./ask.js";

/**
 * @typedef {{seq: number, time: number, kind: string, job?: string, tenant?: string, task?: number,
 *   attempt?: number, machine?: string, back?: boolean, cause?: string, code?: number}} ServerEvent
 */

/** Seconds without a sign of life (one comes every 15), after which a connection is given up. */
const SILENT = 50;

/** Seconds until the next try: the first, and the most. */
const FIRST = 1;
const LONGEST = 30;

/** Seconds between looks where there is no place for one more stream. */
const WITHOUT = 10;

/** Lists of an update, and the field that names a row. */
const LISTS = /** @type {const} */ ({ tenants: "name", jobs: "name", shortfalls: "tenant", below_fair: "tenant", never: "job" });

/**
 * Shares and the live audit as the stream tells them.
 * @typedef {{policy: string, exact: number | null, behind: string | null, checked: number, more: number, below_fair_more: number,
 *   never_more: number, problem: string | null, tenants: any[], jobs: any[], shortfalls: any[], below_fair: any[],
 *   never: any[]}} Standing
 */

/**
 * Follows what happens until `stop` is called.
 * @param {{
 *   heard: () => void,
 *   state: (sentence: string, away: boolean) => void,
 *   signedOut: (error: Refused) => void,
 *   stood: ((standing: Standing) => void) | null,
 * }} told `heard`: something happened, or may have; `state`: what there is to say of the connection;
 *   `stood`: who stands how, each time it changes
 */
export function follow({ heard, state, signedOut, stood }) {
  /** @type {Standing | null} */
  let standing = null;
  /** @type {AbortController | null} */
  let open = null;
  /** @type {number | undefined} */
  let waiting;
  let tries = 0;
  let stopped = false;

  async function connect() {
    clearInterval(waiting);
    if (stopped || open || document.hidden) return;
    const mine = (open = new AbortController());
    try {
      const answer = await request("GET", `/v1/updates${stood ? "?shares=true" : ""}`, { signal: mine.signal });
      tries = 0;
      state("", false);
      heard(); // whatever happened while nobody listened
      await listen(answer, mine);
      throw new Away("the stream ended");
    } catch (error) {
      if (open === mine) open = standing = null;
      if (!mine.signal.aborted || !(error instanceof DOMException)) failed(error);
      else if (mine.signal.reason === SILENT) failed(new Away("silent"));
    }
  }

  /** @param {unknown} error */
  function failed(error) {
    if (stopped || document.hidden) return;
    if (error instanceof Refused && error.status === 401) {
      signedOut(error);
    } else if (error instanceof Refused && error.status === 429) {
      again(Math.max(WITHOUT, error.retry), () => "No place for one more live page; this one looks every 10 seconds.", false);
      heard();
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
    if (!fields.data) return; // a sign of life
    if (fields.event === "changed") return heard();
    const told = JSON.parse(fields.data);
    if (fields.event === "shares") standing = told;
    else if (standing) standing = merged(standing, told);
    if (standing) stood?.(standing);
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
    /** Whether it tells who stands how. */
    stands: () => standing !== null,
    stop() {
      stopped = true;
      clearInterval(waiting);
      open?.abort();
      document.removeEventListener("visibilitychange", seen);
    },
  };
}

/**
 * What there was with what changed: rows that are otherwise or new, and the order where it is another.
 * @param {Standing} before
 * @param {Partial<Standing> & {order?: Record<string, string[]>}} told
 * @returns {Standing}
 */
function merged(before, { order, ...told }) {
  const now = { ...before, ...told };
  for (const [list, key] of Object.entries(LISTS)) {
    const name = /** @type {keyof typeof LISTS} */ (list);
    const rows = new Map(before[name].map((row) => [row[key], row]));
    for (const row of told[name] ?? []) rows.set(row[key], row);
    now[name] = (order?.[name] ?? [...rows.keys()]).map((each) => rows.get(each));
  }
  return now;
}
