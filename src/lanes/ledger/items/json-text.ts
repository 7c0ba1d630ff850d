/** The text is not JSON at some place: nothing of a body can be read with certainty then. */
export class NotJsonError extends Error {
  override readonly name = 'NotJsonError';

  constructor() {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super('Not JSON');
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** A member of an object as it was written: names come again, and numbers keep their spelling. */
export interface WrittenMember {
  readonly name: string;
  /** The value's own characters. */
  readonly text: string;
}

/** The first character from `at` on that is no white space of JSON; the text's length where there is none. */
export function skipSpace(text: string, at: number): number {
  let next = at;
  for (;;) {
    const code = text.charCodeAt(next);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return next;
    next += 1;
  }
}

/**
 * One past the value that begins at `at`. It goes by quotes and brackets alone: whether what lies between is JSON is for
 * a parser to say.
 *
 * @throws NotJsonError where the text ends first, or no value begins here.
 */
export function endOfValue(text: string, at: number): number {
  const first = text.charCodeAt(at);
  if (first === QUOTE) return endOfString(text, at);
  if (first !== OPENING_BRACE && first !== OPENING_BRACKET) return endOfScalar(text, at);
  let depth = 0;
  for (let next = at; next < text.length; next += 1) {
    const code = text.charCodeAt(next);
    if (code === QUOTE) next = endOfString(text, next) - 1;
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) depth += 1;
    else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      depth -= 1;
      if (depth === 0) return next + 1;
    }
  }
  throw new NotJsonError();
}

/**
 * The value that begins at `at`, as a parser has it, and one past its end. Beyond `charactersMax` it is not parsed, since
 * a parser cannot be interrupted: undefined then.
 *
 * @throws NotJsonError
 */
export function parseValue(text: string, at: number, charactersMax: number): { value: unknown; end: number } {
  const end = endOfValue(text, at);
  if (end - at > charactersMax) return { value: undefined, end };
  try {
    return { value: JSON.parse(text.slice(at, end)) as unknown, end };
  } catch {
    throw new NotJsonError();
  }
}

/** One past the closing quote of the string whose opening one is at `at`. */
export function endOfString(text: string, at: number): number {
  for (let quote = text.indexOf('"', at + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
  }
  throw new NotJsonError();
}

/** A number, `true`, `false` or `null`, or what stands in the place of one. */
function endOfScalar(text: string, at: number): number {
  let next = at;
  for (; next < text.length; next += 1) {
    const code = text.charCodeAt(next);
    if (code === COMMA || code === CLOSING_BRACE || code === CLOSING_BRACKET || code <= 0x20) break;
  }
  if (next === at) throw new NotJsonError();
  return next;
}

/** The members of an object, each as often as it was written. `text` is an object that a parser has taken. */
export function writtenMembers(text: string): WrittenMember[] {
  const members: WrittenMember[] = [];
  let at = skipSpace(text, 1);
  while (text.charCodeAt(at) !== CLOSING_BRACE) {
    const nameEnd = endOfString(text, at);
    const valueAt = skipSpace(text, skipSpace(text, nameEnd) + 1);
    const valueEnd = endOfValue(text, valueAt);
    members.push({ name: JSON.parse(text.slice(at, nameEnd)) as string, text: text.slice(valueAt, valueEnd) });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return members;
}
