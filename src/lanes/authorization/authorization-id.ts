import { randomFillSync } from 'node:crypto';

/** Crockford's base 32, without the letters that are taken for digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 26 characters of 5 bits hold 130; the first one therefore never exceeds 7. */
const SUFFIX = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Random bytes are drawn for many ids at once: a call into the operating system for each would cost more than the id. */
const RANDOM_BYTES_PER_ID = 10;
const pool = Buffer.alloc(RANDOM_BYTES_PER_ID * 256);
let poolOffset = pool.length;

/**
 * A new row id: a UUID of version 7. Ordered by time, so that rows written together lie together in the index; 74
 * random bits keep it opaque and unique over all processes.
 */
export function newRowId(nowMs: number = Date.now()): string {
  if (poolOffset === pool.length) {
    randomFillSync(pool);
    poolOffset = 0;
  }
  const bytes = pool.subarray(poolOffset, poolOffset + RANDOM_BYTES_PER_ID);
  poolOffset += RANDOM_BYTES_PER_ID;
  const at = (index: number): number => bytes[index] ?? 0;
  const hex = (byte: number): string => HEX[byte & 0xff] ?? '';
  const timeHigh = Math.floor(nowMs / 0x10000);
  const timeLow = nowMs % 0x10000;
  return (
    `${hex(timeHigh >>> 24)}${hex(timeHigh >>> 16)}${hex(timeHigh >>> 8)}${hex(timeHigh)}` +
    `-${hex(timeLow >>> 8)}${hex(timeLow)}` +
    `-${hex(0x70 | (at(0) & 0x0f))}${hex(at(1))}` +
    `-${hex(0x80 | (at(2) & 0x3f))}${hex(at(3))}` +
    `-${hex(at(4))}${hex(at(5))}${hex(at(6))}${hex(at(7))}${hex(at(8))}${hex(at(9))}`
  );
}

/** The id that callers see, such as `aut_` and 26 characters, for a row id. */
export function publicId(prefix: string, rowId: string): string {
  const hex = rowId.replaceAll('-', '');
  // 32-bit arithmetic: five hexadecimal digits (20 bits) are four characters, and 128 bits begin with 8 of them.
  const head = parseInt(hex.slice(0, 2), 16);
  let text = (ALPHABET[head >>> 5] ?? '') + (ALPHABET[head & 31] ?? '');
  for (let index = 2; index < 32; index += 5) {
    const bits = parseInt(hex.slice(index, index + 5), 16);
    text +=
      (ALPHABET[bits >>> 15] ?? '') +
      (ALPHABET[(bits >>> 10) & 31] ?? '') +
      (ALPHABET[(bits >>> 5) & 31] ?? '') +
      (ALPHABET[bits & 31] ?? '');
  }
  return prefix + text;
}

/** The row id behind a public one; null for whatever {@link publicId} would never have written. */
export function parsePublicId(prefix: string, id: string): string | null {
  if (id.length !== prefix.length + 26 || !id.startsWith(prefix)) return null;
  const suffix = id.slice(prefix.length);
  if (!SUFFIX.test(suffix)) return null;
  const digit = (index: number): number => ALPHABET.indexOf(suffix.charAt(index));
  let hex = ((digit(0) << 5) | digit(1)).toString(16).padStart(2, '0');
  for (let index = 2; index < 26; index += 4) {
    const bits = (digit(index) << 15) | (digit(index + 1) << 10) | (digit(index + 2) << 5) | digit(index + 3);
    hex += bits.toString(16).padStart(5, '0');
  }
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const AUTHORIZATION_PREFIX = 'aut_';
export const CAPTURE_PREFIX = 'cap_';
export const REVERSAL_PREFIX = 'rev_';
export const REFUND_PREFIX = 'ref_';
