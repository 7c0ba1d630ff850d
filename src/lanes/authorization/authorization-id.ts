import { randomFillSync } from 'node:crypto';

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

export const AUTHORIZATION_PREFIX = 'aut_';
export const CAPTURE_PREFIX = 'cap_';
export const REVERSAL_PREFIX = 'rev_';
export const REFUND_PREFIX = 'ref_';
