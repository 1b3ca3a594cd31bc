// @ts-check
/** Moments (microseconds since 1970) as people read them, in the time of who reads. */

/** @param {number | null | undefined} moment */
export function clock(moment) {
  if (moment === null || moment === undefined) return "–";
  const date = new Date(moment / 1000);
  const day = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString("en-GB");
  return day ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

/**
 * A time that passed or will, in two units at most.
 * @param {number} seconds
 */
export function lasting(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  for (const [size, unit, below, smaller] of /** @type {const} */ ([
    [86400, "d", 3600, "h"],
    [3600, "h", 60, "m"],
    [60, "m", 1, "s"],
  ])) {
    const rest = Math.floor((whole % size) / below);
    if (whole >= size) return `${Math.floor(whole / size)}${unit}${rest ? ` ${rest}${smaller}` : ""}`;
  }
  return `${whole}s`;
}

/** The zone of what `clock` says: "UTC+01:00 (Europe/Berlin)". */
export function zone() {
  const minutes = -new Date().getTimezoneOffset();
  const part = (/** @type {number} */ number) => String(Math.floor(number)).padStart(2, "0");
  const size = Math.abs(minutes);
  const from = size ? `UTC${minutes < 0 ? "−" : "+"}${part(size / 60)}:${part(size % 60)}` : "UTC";
  const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return !name || name === from ? from : `${from} (${name})`;
}
