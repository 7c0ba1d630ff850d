import type { Caller } from '../../../ingress/caller';
import { pointerOf } from '../../../ingress/validation';
import type { RequestFault } from '../../../shared/problem';
import { ITEM_CHARACTERS_MAX, ItemReader, type ReadItem } from './item-reader';
import { endOfString, NotJsonError, parseValue, skipSpace } from './json-text';

const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const BYTE_ORDER_MARK = 0xfeff;

const ITEMS = 'items';
/** Faults told of in one answer, and the longest name that is sent back. */
const FAULTS_MAX = 20;
const NAME_CHARACTERS_MAX = 64;

/** More items than a batch holds: the rest of it is not looked at. */
export class TooManyItemsError extends Error {
  override readonly name = 'TooManyItemsError';
}

/**
 * The envelope `{ "items": [ … ] }` and its items, read a part at a time so that a body of 5,000 items does not hold the
 * event loop. Nothing of it may be admitted before the end: only then is it certain that the whole text is JSON.
 */
export class BatchReader {
  readonly items: ReadItem[] = [];
  /** What is wrong with the envelope; faults of items are theirs. */
  readonly faults: RequestFault[] = [];
  readonly #text: string;
  readonly #itemsMax: number;
  readonly #reader: ItemReader;
  #at: number;
  #itemsSeen = false;
  #insideItems = false;
  #finished = false;

  constructor(text: string, caller: Caller, itemsMax: number) {
    this.#text = text;
    this.#itemsMax = itemsMax;
    this.#reader = new ItemReader(text, caller);
    this.#at = this.#open(text.charCodeAt(0) === BYTE_ORDER_MARK ? 1 : 0);
  }

  /**
   * Reads on until `enough` says so, asked after each item.
   *
   * @returns whether the text has been read to its end.
   * @throws NotJsonError where the text is no JSON; TooManyItemsError.
   */
  readOn(enough: () => boolean): boolean {
    while (!this.#finished) {
      if (this.#insideItems) this.#readItem();
      else this.#readMember();
      if (enough()) break;
    }
    return this.#finished;
  }

  /** @returns where the envelope's first member is, or its end. */
  #open(from: number): number {
    const at = skipSpace(this.#text, from);
    if (this.#text.charCodeAt(at) === OPENING_BRACE) return skipSpace(this.#text, at + 1);
    this.#expectEnd(parseValue(this.#text, at, ITEM_CHARACTERS_MAX).end);
    this.faults.push({ pointer: '', detail: 'Must be an object' });
    return at;
  }

  #readMember(): void {
    const text = this.#text;
    if (text.charCodeAt(this.#at) === CLOSING_BRACE) {
      this.#expectEnd(this.#at + 1);
      if (!this.#itemsSeen) this.#fault({ pointer: `/${ITEMS}`, detail: 'Missing' });
      return;
    }
    const nameEnd = text[this.#at] === '"' ? endOfString(text, this.#at) : NaN;
    const name = parseName(text.slice(this.#at, nameEnd));
    const colonAt = skipSpace(text, nameEnd);
    if (text.charCodeAt(colonAt) !== COLON) throw new NotJsonError();
    this.#readValue(name, skipSpace(text, colonAt + 1));
  }

  #readValue(name: string, at: number): void {
    const text = this.#text;
    if (name === ITEMS && !this.#itemsSeen && text.charCodeAt(at) === OPENING_BRACKET) {
      this.#itemsSeen = true;
      this.#at = skipSpace(text, at + 1);
      if (text.charCodeAt(this.#at) !== CLOSING_BRACKET) this.#insideItems = true;
      else {
        this.#fault({ pointer: `/${ITEMS}`, detail: 'Must have at least one item' });
        this.#afterMember(this.#at + 1);
      }
      return;
    }
    const detail = name !== ITEMS ? 'Not a known member' : this.#itemsSeen ? 'Given more than once' : 'Must be a list';
    if (name === ITEMS) this.#itemsSeen = true;
    const shown = name.length <= NAME_CHARACTERS_MAX && name.isWellFormed();
    this.#fault({ pointer: shown ? pointerOf([name]) : '', detail });
    this.#afterMember(parseValue(text, at, ITEM_CHARACTERS_MAX).end);
  }

  #readItem(): void {
    if (this.items.length === this.#itemsMax) throw new TooManyItemsError();
    this.items.push(this.#reader.read(this.#at));
    const at = skipSpace(this.#text, this.#reader.end);
    const code = this.#text.charCodeAt(at);
    if (code === COMMA) {
      this.#at = skipSpace(this.#text, at + 1);
    } else if (code === CLOSING_BRACKET) {
      this.#insideItems = false;
      this.#afterMember(at + 1);
    } else {
      throw new NotJsonError();
    }
  }

  #afterMember(end: number): void {
    const at = skipSpace(this.#text, end);
    const code = this.#text.charCodeAt(at);
    if (code !== COMMA && code !== CLOSING_BRACE) throw new NotJsonError();
    this.#at = code === COMMA ? skipSpace(this.#text, at + 1) : at;
    if (code === COMMA && this.#text.charCodeAt(this.#at) === CLOSING_BRACE) throw new NotJsonError();
  }

  #expectEnd(at: number): void {
    if (skipSpace(this.#text, at) !== this.#text.length) throw new NotJsonError();
    this.#finished = true;
  }

  #fault(fault: RequestFault): void {
    if (this.faults.length < FAULTS_MAX) this.faults.push(fault);
  }
}

function parseName(quoted: string): string {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    throw new NotJsonError();
  }
}
