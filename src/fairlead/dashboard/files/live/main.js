// @ts-check
/** The dashboard: who is signed in, which view is shown, and when it is read again. */

import { audit } from "../views/audit.js";
import { bottlenecksView, waterView } from "../views/allocation.js";
import { Away, Refused, answered, read, request } from "./ask.js";
import { html } from "../draw.js";
import { events } from "../views/events.js";
import { job } from "../views/job.js";
import { jobs } from "../views/jobs.js";
import { follow } from "./stream.js";
import { machines } from "../views/machines.js";
import { now } from "../views/now.js";
import { paints } from "./paints.js";
import { signIn } from "./sign_in.js";
import { tenants } from "../views/tenants.js";
import { time } from "../views/time.js";
import { lasting, zone } from "./times.js";
import { whatIf } from "../views/what_if.js";
import { why } from "../views/why.js";

/**
 * A view: `read` asks for what it shows and returns in how many seconds to look again though nothing
 * happens (0: not at all); `after`: in how many seconds to look once more after something happened.
 * One with `stand` is told who stands how by the stream, and reads only where there is none.
 * @typedef {{title: string, element: HTMLElement, read: (signal: AbortSignal) => Promise<number>,
 *   after?: number, stand?: (standing: import("./stream.js").Standing) => void}} View
 *
 * What a view is given: the words after its name in the address, its parameters (`put` writes them
 * there), and how to be read again at once.
 * @typedef {{words: string[], query: URLSearchParams, put: (query: Record<string, string | string[]>) => void,
 *   again: () => void, me: Me}} Page
 *
 * @typedef {{name: string | null, role: string, tenant: string | null}} Me
 */

/** @type {Record<string, {make: (page: Page) => View, shown?: string}>} */
const VIEWS = {
  now: { make: now, shown: "Now" },
  water: { make: waterView, shown: "Water" },
  bottlenecks: { make: bottlenecksView, shown: "Bottlenecks" },
  time: { make: time, shown: "Time" },
  "what-if": { make: whatIf, shown: "What if" },
  jobs: { make: jobs, shown: "Jobs" },
  job: { make: job },
  why: { make: why, shown: "Why" },
  machines: { make: machines, shown: "Machines" },
  tenants: { make: tenants, shown: "Tenants" },
  audit: { make: audit, shown: "Audit" },
  events: { make: events, shown: "Events" },
};

/** Tenants whose colours are chosen before any view is drawn, by their names: the same in every page. */
const COLOURED = 1000;

/** Milliseconds until a service that does not lead is asked whether it does by now. */
const FOLLOWING = 2000;

/** Milliseconds between two looks, at least. */
const APART = 1000;

document.body.append(html("footer", { class: "soft" }, `Times are those of ${zone()}.`));
const top = /** @type {HTMLElement} */ (document.getElementById("top"));
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const line = /** @type {HTMLElement} */ (document.getElementById("state"));
const words = html("span");
const places = html("span"); // with links, which keep their focus while the words count seconds
line.append(words, places);
const problem = html("p", { class: "warning", role: "alert", hidden: true });

/** @type {Me | null} */
let me = null;
/** @type {string | null} where graphs of the nodes are */
let graphs = null;
/** @type {string[]} where this service and its standbys answer */
let addresses = [];
/** @type {View | null} */
let view = null;
/** @type {ReturnType<typeof follow> | null} */
let stream = null;
/** @type {AbortController | null} */
let reading = null;
/** @type {number | undefined} */
let timer;
/** @type {number | undefined} */
let following;
let due = Infinity;
let looked = 0;
let heard = false;
let standing = false;

/** Begins, or begins again after somebody signed in. */
async function begin() {
  try {
    ({ me, graphs, addresses } = await read("/v1/session"));
    if (me) paints((await read("/v1/tenants", { limit: COLOURED })).tenants.map((/** @type {{name: string}} */ { name }) => name));
  } catch (error) {
    say(`${error instanceof Refused ? error.message : "The service is away"}; trying again in 3 s.`, true);
    setTimeout(begin, 3000);
    return;
  }
  say("", false);
  if (!me) return ask();
  route();
}

/**
 * Asks who it is.
 * @param {string} [reason]
 */
function ask(reason) {
  leave();
  stream?.stop();
  stream = null;
  me = null;
  say("", false);
  head();
  main.replaceChildren(signIn(begin, reason));
  document.getElementById("token")?.focus();
}

/** The token was revoked, or the JWT has expired: whoever signs in again is in the same view. @param {Refused} error */
function ended({ message }) {
  const [why] = message.split("; "); // what follows is for who has a terminal
  ask(`Your sign-in has ended: ${why}. Sign in again to go on here.`);
}

async function signOut() {
  try {
    await request("DELETE", "/v1/session");
  } catch {
    problem.textContent = "The service does not answer: you are still signed in here.";
    problem.hidden = false;
    return;
  }
  ask("You are signed out.");
}

function leave() {
  reading?.abort();
  reading = null;
  clearTimeout(timer);
  due = Infinity;
  view = null;
}

/** Goes on where somebody signed in in another page of the browser, whose session is this one's. */
async function signedInElsewhere() {
  try {
    if ((await read("/v1/session")).me && !me) begin();
  } catch (error) {
    if (!(error instanceof Away || error instanceof Refused)) throw error; // who signs in here is told
  }
}

/** Shows the view that the address names. */
function route() {
  if (!me) return;
  leave();
  const [path, query] = location.hash.slice(1).split("?");
  const [name, ...words] = path.split("/").map(decoded);
  const known = VIEWS[name] ? name : "now";
  view = VIEWS[known].make({
    words,
    query: new URLSearchParams(query),
    put: (values) => {
      const kept = new URLSearchParams(Object.entries(values).flatMap(([key, some]) => [some].flat().filter(Boolean).map((value) => [key, value])));
      history.replaceState(null, "", `#${path}${kept.size ? `?${kept}` : ""}`);
    },
    again: () => look(0),
    me,
  });
  listen(view.stand ?? null);
  document.title = `${view.title} · Fairlead`;
  head(known);
  problem.hidden = true;
  main.replaceChildren(problem, view.element);
  scrollTo(0, 0);
  main.focus({ preventScroll: true }); // the link that was followed is another one now
  looked = 0;
  look(0);
}

/**
 * Follows what happens: anew where the view before wanted to be told something else.
 * @param {View["stand"] | null} stand
 */
function listen(stand) {
  if (stream && !stand && !standing) return;
  stream?.stop();
  standing = Boolean(stand);
  stream = follow({ heard: happened, state: say, signedOut: ended, stood: stand ?? null });
}

/** @param {string} word */
function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

/** @param {string} [current] */
function head(current) {
  const role = me?.tenant ? `tenant ${me.tenant}` : me?.role;
  const who = me && (me.name ? [...new Set([me.name, role])].join(" · ") : "no sign-in is asked for here");
  top.replaceChildren(
    html("a", { class: "brand", href: "#now" }, "Fairlead"),
    me
      ? html(
          "nav",
          { "aria-label": "views" },
          ...Object.entries(VIEWS).map(([name, { shown }]) =>
            shown ? html("a", { href: `#${name}`, "aria-current": name === current ? "page" : null }, shown) : null,
          ),
          graphs ? html("a", { href: graphs, rel: "noreferrer", target: "_blank" }, "Graphs of nodes ↗") : null,
        )
      : "",
    html("span", { class: "who", hidden: !who }, who, me?.name ? html("button", { type: "button", onclick: signOut }, "Sign out") : null),
  );
}

/**
 * The state of the connection. A page cannot ask another address in its place, as it is signed in at
 * its own alone: it says where to look.
 * @param {string} sentence
 * @param {boolean} away
 */
function say(sentence, away) {
  const age = answered.age === null ? "" : `From a service that does not lead: as of ${Number(answered.age) < 1 ? "a moment" : lasting(Number(answered.age))} ago.`;
  const others = away ? elsewhere(addresses) : sentence ? [] : elsewhere([answered.leader ?? ""]);
  words.textContent = sentence || age;
  const hrefs = others.map((each) => `${each}/${location.hash}`);
  if (hrefs.join() !== [...places.querySelectorAll("a")].map(({ href }) => href).join()) {
    const links = hrefs.map((href, index) => [" ", html("a", { href }, others[index])]).flat();
    places.replaceChildren(...(links.length ? [away ? " It may answer at" : " The one that leads answers at", ...links] : []));
  }
  line.hidden = !line.textContent;
  line.classList.toggle("away", away);
  clearTimeout(following);
  if (me && !away && age) following = setTimeout(follows, FOLLOWING);
}

/** Asks whether the service leads by now, as the stream goes on and does not say. */
async function follows() {
  try {
    if (!document.hidden) await request("GET", "/v1/session");
    if (me) say("", false);
  } catch (error) {
    if (!(error instanceof Away || error instanceof Refused)) throw error;
    following = setTimeout(follows, FOLLOWING); // what is wrong with it the stream says
  }
}

/** Those of the addresses that are of a page elsewhere. @param {string[]} some */
function elsewhere(some) {
  const found = some.flatMap((text) => (/^https?:/.test(text) && URL.canParse(text) ? [new URL(text).origin] : []));
  return [...new Set(found)].filter((each) => each !== location.origin);
}

/** Something happened, or may have. */
function happened() {
  heard = true;
  look(0);
}

/**
 * Looks again after so many milliseconds: what is asked for sooner goes first, and no two looks are
 * nearer to each other than a second.
 * @param {number} wait
 */
function look(wait) {
  const at = Math.max(Date.now() + wait, looked + APART);
  if (!view || document.hidden || at >= due) return;
  due = at;
  clearTimeout(timer);
  timer = setTimeout(show, Math.max(0, at - Date.now()));
}

async function show() {
  due = Infinity;
  const mine = view;
  if (!mine || document.hidden) return;
  if (reading) return look(APART); // the answer before is still to come
  if (mine.stand && stream?.stands()) return; // it is told
  looked = Date.now();
  const stirred = heard;
  heard = false;
  reading = new AbortController();
  const { signal } = reading;
  try {
    const next = await mine.read(signal);
    problem.hidden = true;
    done();
    if (stirred && mine.after) look(1000 * mine.after);
    if (next) look(1000 * next);
  } catch (error) {
    if (signal.aborted) return;
    done();
    if (error instanceof Refused && error.status === 401) {
      ended(error);
    } else if (error instanceof Refused) {
      problem.textContent = error.message;
      problem.hidden = false;
      if (error.retry) look(1000 * error.retry);
    } else if (!(error instanceof Away)) {
      throw error;
    }
  }

  function done() {
    if (reading?.signal === signal) reading = null;
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(timer);
    due = Infinity;
  } else if (me) {
    look(0);
  } else {
    signedInElsewhere();
  }
});
addEventListener("hashchange", route);
begin();
