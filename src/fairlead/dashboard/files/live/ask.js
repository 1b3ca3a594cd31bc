// @ts-check
/** Requests to the service. The browser adds the session's cookie, which no script can read. */

/** The service refuses: it says why, and when to ask again. */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} sentence
   * @param {number} retry seconds to wait, 0 where it does not say
   */
  constructor(status, sentence, retry) {
    super(sentence);
    this.status = status;
    this.retry = retry;
  }
}

/** Nobody answers. */
export class Away extends Error {}

/** What went wrong, and when to ask again where that is known. @param {unknown} error */
export function said(error) {
  const { message } = /** @type {Error} */ (error);
  return error instanceof Refused && error.retry ? `${message}; ask again in ${error.retry} s` : message;
}

/** Of the last answer: how old it was, in seconds, where a service gave it that follows another one
 * or cannot know whether it leads; and where the one that leads answers. */
export const answered = { age: /** @type {string | null} */ (null), leader: /** @type {string | null} */ (null) };

/**
 * The answer itself, where it is a good one. Throws Refused or Away.
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [more]
 */
export async function request(method, path, { body, headers = {}, signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      credentials: "same-origin",
      headers: {
        ...(method === "GET" ? {} : { "Fairlead-Request": "1" }),
        ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Away("nobody answers");
  }
  answered.age = answer.headers.get("Fairlead-Age");
  answered.leader = answer.headers.get("Fairlead-Leader");
  if (answer.ok) return answer;
  const retry = Number(answer.headers.get("Retry-After") ?? 0);
  throw new Refused(answer.status, await sentence(answer), retry);
}

/**
 * What a GET answers in JSON.
 * @param {string} path
 * @param {Record<string, string | number | boolean | null | undefined>} [query] what is empty is left out
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function read(path, query = {}, signal) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) words.set(name, String(value));
  }
  const asked = words.size ? `${path}?${words}` : path;
  return (await request("GET", asked, { signal })).json();
}

/**
 * An address of what has this name.
 * @param {...string} names
 */
export function address(...names) {
  return `/v1/${names.map((name) => (/^\.{1,2}$/.test(name) ? name.replaceAll(".", "%2E") : encodeURIComponent(name))).join("/")}`;
}

/** @param {Response} answer */
async function sentence(answer) {
  try {
    const { error } = await answer.json();
    return error.mistakes.map((/** @type {{message: string}} */ one) => one.message).join("; ");
  } catch {
    return `the service answers with status ${answer.status}`;
  }
}
