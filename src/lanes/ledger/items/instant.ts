/** Microseconds since 1970-01-01T00:00:00Z. */
const MICROS_PER_SECOND = 1_000_000;
const SECONDS_PER_MINUTE = 60;
const SECONDS_PER_DAY = 86_400;
/** PostgreSQL keeps six decimals and would round a seventh. */
const DECIMALS_MAX = 6;

/**
 * Before and after these no payment was or will be made here: a clock that was never set, or a unit mistaken for another.
 * The bounds are dates and not "soon": an item that was valid once must be valid when it is sent again.
 */
const EARLIEST_YEAR = 2000;
const LATEST_YEAR = 2099;

const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;
const ZERO = 0x30;

/**
 * The instant that an RFC 3339 date-time names, in microseconds since 1970; null where it names none: without a zone, a
 * day or an hour that does not exist, a leap second (PostgreSQL has none), more precise than a microsecond, or outside
 * 2000–2099. Exact: no date library on the way, whose milliseconds would round.
 */
export function microsOfInstant(text: string): number | null {
  // 2026-11-30T12:00:00Z is the shortest there is.
  if (text.length < 20 || !hasSeparators(text)) return null;
  const year = digits(text, 0, 4);
  const month = digits(text, 5, 2);
  const day = digits(text, 8, 2);
  const hour = digits(text, 11, 2);
  const minute = digits(text, 14, 2);
  const second = digits(text, 17, 2);
  if (!(year >= EARLIEST_YEAR && year <= LATEST_YEAR && month >= 1 && month <= 12)) return null;
  if (!(day >= 1 && day <= daysIn(year, month))) return null;
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return null;

  let zoneAt = 19;
  let micros = 0;
  if (text[zoneAt] === '.') {
    zoneAt = endOfDigits(text, zoneAt + 1);
    const decimals = zoneAt - 20;
    if (decimals === 0 || !/^0*$/.test(text.slice(20 + DECIMALS_MAX, zoneAt))) return null;
    micros = Number(text.slice(20, Math.min(zoneAt, 20 + DECIMALS_MAX)).padEnd(DECIMALS_MAX, '0'));
  }
  const offsetSeconds = zoneOffsetSeconds(text, zoneAt);
  if (Number.isNaN(offsetSeconds)) return null;
  const seconds = daysSinceEpoch(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
  return (seconds - offsetSeconds) * MICROS_PER_SECOND + micros;
}

/** `YYYY-MM-DDThh:mm:ss`; RFC 3339 allows a small `t`. */
function hasSeparators(text: string): boolean {
  const t = text[10];
  return text[4] === '-' && text[7] === '-' && (t === 'T' || t === 't') && text[13] === ':' && text[16] === ':';
}

/** NaN where one of the characters is no digit, so that every comparison with it fails. */
function digits(text: string, from: number, count: number): number {
  let value = 0;
  for (let at = from; at < from + count; at += 1) {
    const digit = text.charCodeAt(at) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return NaN;
    value = value * 10 + digit;
  }
  return value;
}

function endOfDigits(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= ZERO + 9) at += 1;
  return at;
}

/** East of Greenwich is positive; NaN where the rest of the text is no zone. */
function zoneOffsetSeconds(text: string, at: number): number {
  const sign = text[at];
  if (sign === 'Z' || sign === 'z') return text.length === at + 1 ? 0 : NaN;
  if ((sign !== '+' && sign !== '-') || text.length !== at + 6 || text[at + 3] !== ':') return NaN;
  const hours = digits(text, at + 1, 2);
  const minutes = digits(text, at + 4, 2);
  if (!(hours <= 23 && minutes <= 59)) return NaN;
  const seconds = (hours * 60 + minutes) * SECONDS_PER_MINUTE;
  return sign === '+' ? seconds : -seconds;
}

function daysIn(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return month === 2 && leap ? 29 : (DAYS_IN_MONTH[month - 1] as number);
}

function daysSinceEpoch(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / (SECONDS_PER_DAY * 1000);
}
