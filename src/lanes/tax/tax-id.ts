import { hash } from 'node:crypto';
import { ulid } from 'ulid';
import type { KeyedRequest } from '../../ingress/idempotency';

export const QUOTE_PREFIX = 'quo_';
/** A ULID, or what looks like one. */
const QUOTE_ID = /^quo_[0-9A-HJKMNP-TV-Z]{26}$/;
/** Crockford's base 32, as ULIDs are written. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const SUFFIX_CHARACTERS = 26;

/** The id of a quote of the provider. */
export function newQuoteId(): string {
  return QUOTE_PREFIX + ulid();
}

/**
 * The id of an estimate: a function of caller, key and payload. An order that is refused a second time under its key is
 * given the estimate that it has, and one row says what became of it.
 */
export function estimateIdOf({ scopeHash, payloadHash }: KeyedRequest): string {
  const digest = hash('sha256', Buffer.concat([Buffer.from('estimate'), scopeHash, payloadHash]), 'buffer');
  let id = QUOTE_PREFIX;
  for (let index = 0; index < SUFFIX_CHARACTERS; index += 1) id += ALPHABET.charAt((digest[index] ?? 0) & 31);
  return id;
}

/** Whether this lane could have given the id out; anything else need not be looked for. */
export function isQuoteId(id: string): boolean {
  return QUOTE_ID.test(id);
}
