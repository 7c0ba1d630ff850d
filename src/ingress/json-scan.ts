import type { RequestFault } from '../shared/problem';
import { FAULTS_MAX, pointerOf } from './validation';

/** No body of the API is nested deeper than four. */
const DEPTH_MAX = 32;
/** Up to here a list of names is searched faster than a set of them is made. */
const NAMES_LISTED_MAX = 16;

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const NINE = 0x39;
const UPPER_E = 0x45;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

const NO_FAULTS: readonly RequestFault[] = Object.freeze([]);

/** The container that the scan is in; `names` is null for a list, whose members are numbered. */
interface Level {
  readonly names: { listed: string[]; set: Set<string> | null } | null;
  segment: string | number;
  expectsName: boolean;
}

/**
 * What `JSON.parse` does not tell of a text: numbers that it rounds, members that it drops because their name comes
 * again, half surrogate pairs (no canonical form by RFC 8785, no place in the database), nesting beyond all use.
 * Money is judged as it was written (contract 9): `1.0000000000000000001` is no integer although it parses to one.
 *
 * @param text JSON that `JSON.parse` has taken, from UTF-8: its syntax is not looked at again.
 * @param integersOnly Whether a number with a fraction or an exponent is a fault.
 * @returns At most {@link FAULTS_MAX} faults; what comes after them is not looked for.
 */
export function scanJson(text: string, integersOnly: boolean): readonly RequestFault[] {
  return new Scan(text, integersOnly).run();
}

class Scan {
  readonly #text: string;
  readonly #integersOnly: boolean;
  readonly #levels: Level[] = [];
  #level: Level | null = null;
  /** The first backslash that is not behind the scan; past the end where there is none. */
  #backslashAt: number;
  #faults: RequestFault[] | null = null;

  constructor(text: string, integersOnly: boolean) {
    this.#text = text;
    this.#integersOnly = integersOnly;
    this.#backslashAt = this.#nextBackslash(0);
  }

  run(): readonly RequestFault[] {
    const text = this.#text;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) at = this.#string(at);
      else if (code === COMMA) this.#comma();
      else if (code === MINUS || (code > DOT && code <= NINE)) at = this.#number(at);
      else if (code === OPENING_BRACE || code === OPENING_BRACKET) {
        if (!this.#open(code === OPENING_BRACE)) break;
      } else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) this.#close();
      if (this.#faults !== null && this.#faults.length >= FAULTS_MAX) break;
    }
    return this.#faults ?? NO_FAULTS;
  }

  #report(detail: string, levels = this.#levels): void {
    (this.#faults ??= []).push({ pointer: pointerOf(levels.map(({ segment }) => segment)), detail });
  }

  #open(isObject: boolean): boolean {
    if (this.#levels.length === DEPTH_MAX) {
      this.#report(`Nested deeper than ${DEPTH_MAX}`);
      return false;
    }
    this.#level = isObject
      ? { names: { listed: [], set: null }, segment: '', expectsName: true }
      : { names: null, segment: 0, expectsName: false };
    this.#levels.push(this.#level);
    return true;
  }

  #close(): void {
    this.#levels.pop();
    this.#level = this.#levels.at(-1) ?? null;
  }

  #comma(): void {
    const level = this.#level as Level;
    if (level.names === null) level.segment = (level.segment as number) + 1;
    else level.expectsName = true;
  }

  /** @returns Where the number's last character is. */
  #number(from: number): number {
    const text = this.#text;
    let isInteger = true;
    let at = from + 1;
    for (; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > DOT && code <= NINE) continue;
      if (code === DOT || code === LOWER_E || code === UPPER_E) isInteger = false;
      // A sign stands in an exponent only, and no white space, comma or bracket is one.
      else if (code !== MINUS && code !== PLUS) break;
    }
    if (!isInteger && this.#integersOnly) this.#report('Must be an integer, written without fraction or exponent');
    return at - 1;
  }

  /** @returns Where the string's closing quote is. */
  #string(from: number): number {
    const text = this.#text;
    let end = text.indexOf('"', from + 1);
    const escaped = this.#backslashAt < end;
    while (this.#backslashAt < end) {
      // Whatever is escaped, the character after the backslash does not end the string.
      const next = this.#backslashAt + 2;
      if (end < next) end = text.indexOf('"', next);
      this.#backslashAt = this.#nextBackslash(next);
    }
    const level = this.#level;
    if (level?.expectsName === true) {
      level.expectsName = false;
      this.#name(level, escaped ? unescape(text.slice(from, end + 1)) : text.slice(from + 1, end));
    } else if (escaped && !unescape(text.slice(from, end + 1)).isWellFormed()) {
      this.#report('Must be well-formed Unicode');
    }
    return end;
  }

  #name(level: Level, name: string): void {
    level.segment = name;
    if (!name.isWellFormed()) {
      this.#report('A member name must be well-formed Unicode', this.#levels.slice(0, -1));
    }
    const { names } = level;
    if (names === null) return;
    if (names.set === null && names.listed.length === NAMES_LISTED_MAX) names.set = new Set(names.listed);
    if (names.set?.has(name) ?? names.listed.includes(name)) this.#report('Given more than once');
    else if (names.set !== null) names.set.add(name);
    else names.listed.push(name);
  }

  #nextBackslash(from: number): number {
    const at = this.#text.indexOf('\\', from);
    return at === -1 ? this.#text.length : at;
  }
}

function unescape(quoted: string): string {
  return JSON.parse(quoted) as string;
}
