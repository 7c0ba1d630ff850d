import type { Caller } from '../../../ingress/caller';
import { pointerOf } from '../../../ingress/validation';
import type { FailedOutcome, LedgerItem } from '../ledger';
import {
  ITEM_MEMBERS,
  isStorableText,
  itemFault,
  type ItemMember,
  judgeForm,
  TEXT_LENGTH_MAX,
  type WrittenItem,
} from './item-form';
import { parseValue, skipSpace, type WrittenMember, writtenMembers } from './json-text';

/** As long as a whole body of any other route, and a hundred times as long as an item. */
export const ITEM_CHARACTERS_MAX = 64 * 1024;
/** Longer names of members are the sender's own, and are not sent back whole. */
const NAME_CHARACTERS_MAX = 64;

const COMMA = 0x2c;
const COLON = 0x3a;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const QUOTE = 0x22;
const DIGIT_ONE = 0x31;
const DIGIT_NINE = 0x39;
/** More digits are no safe integer, whatever they are. */
const AMOUNT_DIGITS_MAX = 16;

/** What an item turned out to be: exactly one of `item` and `fault`. */
export interface ReadItem {
  /** Null where it cannot be read, or is none. */
  readonly itemId: string | null;
  readonly item: LedgerItem | null;
  readonly fault: FailedOutcome | null;
}

const TOO_LONG: ReadItem = {
  itemId: null,
  item: null,
  fault: itemFault('ERR_INVALID_TEXT', `An item has ${ITEM_CHARACTERS_MAX} characters at most`, ''),
};

const MEMBER_COUNT = ITEM_MEMBERS.length;
const QUOTED_MEMBERS = ITEM_MEMBERS.map((name) => `"${name}"`);
const AMOUNT = ITEM_MEMBERS.indexOf('amount_minor');
const ALL_MEMBERS = 2 ** MEMBER_COUNT - 1;

/**
 * Reads items from the text of a body, which is JSON from UTF-8.
 *
 * An item as nearly every sender writes it (its eight members, texts without escapes, digits) is read in one pass, at a
 * quarter of a parser's cost. Whatever is otherwise in any way goes the long way: `JSON.parse` says whether it is JSON,
 * and then what was written is compared with what was parsed, since a parser drops repeated members and rounds numbers.
 */
export class ItemReader {
  readonly #text: string;
  readonly #caller: Caller;
  /** The members' order in the item before: one sender writes them all in the same. */
  readonly #order = Array.from({ length: MEMBER_COUNT }, (_, index) => index);
  readonly #values: string[] = Array.from({ length: MEMBER_COUNT }, () => '');
  readonly #scratch = Object.fromEntries(ITEM_MEMBERS.map((name) => [name, ''])) as WrittenItem;
  /** A backslash, or a control character, which JSON allows between values and not within them: all others are not. */
  readonly #unusual = /[^ -[\]-\uffff]/g;
  #unusualAt = -1;
  #end = 0;

  constructor(text: string, caller: Caller) {
    this.#text = text;
    this.#caller = caller;
  }

  /** One past the item that was read last. */
  get end(): number {
    return this.#end;
  }

  /**
   * The item that begins at `at`.
   *
   * @throws NotJsonError where the text is none there.
   */
  read(at: number): ReadItem {
    return this.#readUsual(at) ? this.#judge(this.#written()) : this.#readAny(at);
  }

  /** The short way; false where the item is not as usual. */
  #readUsual(from: number): boolean {
    const text = this.#text;
    if (text.charCodeAt(from) !== OPENING_BRACE) return false;
    let at = from + 1;
    let seen = 0;
    for (let turn = 0; turn < MEMBER_COUNT; turn += 1) {
      at = skipSpace(text, at);
      const member = this.#memberAt(at, turn);
      if (member === -1) return false;
      seen |= 1 << member;
      at = skipSpace(text, at + (QUOTED_MEMBERS[member] as string).length);
      if (text.charCodeAt(at) !== COLON) return false;
      at = skipSpace(text, at + 1);
      const end = member === AMOUNT ? this.#endOfDigits(at) : this.#endOfPlainString(at);
      if (end === -1) return false;
      this.#values[member] = member === AMOUNT ? text.slice(at, end) : text.slice(at + 1, end - 1);
      at = skipSpace(text, end);
      if (text.charCodeAt(at) !== (turn === MEMBER_COUNT - 1 ? CLOSING_BRACE : COMMA)) return false;
      at += 1;
    }
    this.#end = at;
    return seen === ALL_MEMBERS;
  }

  /** Which member's quoted name stands here; -1 for none of them. */
  #memberAt(at: number, turn: number): number {
    const text = this.#text;
    const expected = this.#order[turn] as number;
    if (text.startsWith(QUOTED_MEMBERS[expected] as string, at)) return expected;
    const member = QUOTED_MEMBERS.findIndex((name) => text.startsWith(name, at));
    if (member !== -1) this.#order[turn] = member;
    return member;
  }

  #endOfDigits(at: number): number {
    const text = this.#text;
    const first = text.charCodeAt(at);
    if (!(first >= DIGIT_ONE && first <= DIGIT_NINE)) return -1;
    let end = at + 1;
    for (; end - at <= AMOUNT_DIGITS_MAX; end += 1) {
      const code = text.charCodeAt(end);
      if (!(code >= DIGIT_ONE - 1 && code <= DIGIT_NINE)) return end;
    }
    return -1;
  }

  #endOfPlainString(at: number): number {
    const text = this.#text;
    if (text.charCodeAt(at) !== QUOTE) return -1;
    const quote = text.indexOf('"', at + 1);
    if (quote === -1) return -1;
    if (this.#unusualAt < at) this.#unusualAt = this.#nextUnusual(at);
    return this.#unusualAt < quote ? -1 : quote + 1;
  }

  #nextUnusual(from: number): number {
    this.#unusual.lastIndex = from;
    return this.#unusual.exec(this.#text)?.index ?? Infinity;
  }

  /** One object for all items: it is read and forgotten, and would be most of what reading leaves to be collected. */
  #written(): WrittenItem {
    const written = this.#scratch;
    const values = this.#values;
    written.item_id = values[0] as string;
    written.merchant_id = values[1] as string;
    written.external_transaction_id = values[2] as string;
    written.account_id = values[3] as string;
    written.type = values[4] as string;
    written.amount_minor = values[5] as string;
    written.currency = values[6] as string;
    written.occurred_at = values[7] as string;
    return written;
  }

  #judge(written: WrittenItem): ReadItem {
    const judged = judgeForm(written, this.#caller);
    const itemId = itemIdOf(written.item_id);
    return 'status' in judged ? { itemId, item: null, fault: judged } : { itemId, item: judged, fault: null };
  }

  /** The long way. */
  #readAny(at: number): ReadItem {
    const { value, end } = parseValue(this.#text, at, ITEM_CHARACTERS_MAX);
    this.#end = end;
    if (value === undefined) return TOO_LONG;
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      return failed(null, '', 'Must be an object');
    }
    const members = writtenMembers(this.#text.slice(at, end));
    const itemId = itemIdOf(Object.getOwnPropertyDescriptor(value, 'item_id')?.value);
    return faultOfMembers(members, itemId) ?? this.#judge(writtenItem(members));
  }
}

/** What goes back to the sender, so that it finds its item: the id itself or nothing, never a part of it. */
function itemIdOf(value: unknown): string | null {
  return typeof value === 'string' && isStorableText(value, TEXT_LENGTH_MAX.item_id) ? value : null;
}

function failed(itemId: string | null, pointer: string, detail: string): ReadItem {
  return { itemId, item: null, fault: itemFault('ERR_MALFORMED_ITEM', detail, pointer) };
}

/** A member too many, too often, missing, or of the wrong JSON type. */
function faultOfMembers(members: readonly WrittenMember[], itemId: string | null): ReadItem | null {
  const texts = new Map<string, string>();
  for (const { name, text } of members) {
    if (!isMember(name)) return failed(itemId, pointerOfName(name), 'Not a known member');
    if (texts.has(name)) return failed(itemId, `/${name}`, 'Given more than once');
    texts.set(name, text);
  }
  for (const name of ITEM_MEMBERS) {
    const text = texts.get(name);
    if (text === undefined) return failed(itemId, `/${name}`, 'Missing');
    if (name === 'amount_minor' ? !/^[-\d]/.test(text) : !text.startsWith('"')) {
      return failed(itemId, `/${name}`, name === 'amount_minor' ? 'Must be a number' : 'Must be a string');
    }
  }
  return null;
}

function isMember(name: string): name is ItemMember {
  return (ITEM_MEMBERS as readonly string[]).includes(name);
}

/** A name that could be none of ours, long or ill-formed, is not mirrored. */
function pointerOfName(name: string): string {
  return name.length <= NAME_CHARACTERS_MAX && name.isWellFormed() ? pointerOf([name]) : '';
}

/** Texts without their escapes, the number as it was written. */
function writtenItem(members: readonly WrittenMember[]): WrittenItem {
  return Object.fromEntries(
    members.map(({ name, text }) => [name, text.startsWith('"') ? (JSON.parse(text) as string) : text]),
  ) as WrittenItem;
}
