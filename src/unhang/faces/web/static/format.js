// Times, sizes and durations for people. The server's clock is the one that counts: `now()` is the server's time.

let ahead = 0;

export function setServerTime(atMs) {
  ahead = atMs - Date.now();
}

export function now() {
  return Date.now() + ahead;
}

export function parse(text) {
  return text ? Date.parse(text) : null;
}

// As `unhang` itself writes durations: 0.4s, 41s, 4m 30s, 1h 30m, 3d 2h.
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  const seconds = Math.max(0, ms / 1000);
  if (seconds < 9.95) return `${seconds.toFixed(1).replace(/\.0$/, "")}s`;
  let whole = Math.round(seconds);
  if (whole < 60) return `${whole}s`;
  let minutes = Math.floor(whole / 60);
  whole %= 60;
  if (minutes < 60) return whole ? `${minutes}m ${whole}s` : `${minutes}m`;
  let hours = Math.floor(minutes / 60);
  minutes %= 60;
  if (hours < 48) return minutes ? `${hours}h ${minutes}m` : `${hours}h`;
  const days = Math.floor(hours / 24);
  hours %= 24;
  return hours ? `${days}d ${hours}h` : `${days}d`;
}

// A clock that runs has whole seconds: tenths would only flicker.
export function ticking(ms) {
  return duration(Math.max(1000, Math.round(Math.max(0, ms) / 1000) * 1000));
}

// How long until a wait ends by itself, in the words of core/diagnosis/time_left.py.
export function inTime(endsMs, at) {
  return endsMs > at ? `in ${ticking(endsMs - at)}` : `(due ${ticking(at - endsMs)} ago)`;
}

// As core/sizes.py writes them.
export function bytes(count) {
  if (count === null || count === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ${units[unit]}`;
}

export function count(number) {
  return number >= 9999.5 ? `${Math.round(number / 1000)}k` : String(number);
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DATE = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric" });

// Local, with the date where it is not today's.
export function moment(ms) {
  if (ms === null || Number.isNaN(ms)) return "";
  const at = new Date(ms);
  const today = new Date(now()).toDateString() === at.toDateString();
  return today ? CLOCK.format(at) : `${DATE.format(at)} ${CLOCK.format(at)}`;
}

export function fully(ms) {
  return ms === null || Number.isNaN(ms) ? "" : new Date(ms).toString();
}
