/** Object ids of PostgreSQL's element types (pg_type), fixed for ever. */
const TYPES = { bool: 16, bytea: 17, int4: 23, int8: 20, text: 25, timestamptz: 1184 } as const;

const HEADER_BYTES = 20;
const DIMENSION_OFFSET = 12;
/** PostgreSQL counts from 2000-01-01. */
const EPOCH_OFFSET_MICROS = 946_684_800_000_000;
const TWO_32 = 2 ** 32;
const UTF8_BYTES_PER_CODE_UNIT_MAX = 3;
const KEY_BYTES = 32;

/**
 * One-dimensional arrays in PostgreSQL's binary format, which the driver passes on as they are: no text is quoted here and
 * none is parsed there, which is most of what 500-element parameters cost.
 */
function arrayOf(type: keyof typeof TYPES, length: number, contentBytesMax: number): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + length * 4 + contentBytesMax);
  array.writeInt32BE(1, 0);
  array.writeInt32BE(0, 4);
  array.writeInt32BE(TYPES[type], 8);
  array.writeInt32BE(length, DIMENSION_OFFSET);
  array.writeInt32BE(1, 16);
  return array;
}

/** How many elements an array has, as PostgreSQL will read it. */
export function lengthOfArray(array: Buffer): number {
  return array.readInt32BE(DIMENSION_OFFSET);
}

/** Safe integers. */
export function bigints<T>(rows: readonly T[], valueOf: (row: T) => number): Buffer {
  return eightBytes('int8', rows, valueOf, 0);
}

/** Microseconds since 1970. */
export function timestamps<T>(rows: readonly T[], microsOf: (row: T) => number): Buffer {
  return eightBytes('timestamptz', rows, microsOf, EPOCH_OFFSET_MICROS);
}

function eightBytes<T>(
  type: 'int8' | 'timestamptz',
  rows: readonly T[],
  valueOf: (row: T) => number,
  offset: number,
): Buffer {
  const array = arrayOf(type, rows.length, rows.length * 8);
  let at = HEADER_BYTES;
  for (const row of rows) {
    const value = valueOf(row) - offset;
    if (!Number.isSafeInteger(value)) throw new RangeError('Not a safe integer');
    const high = Math.floor(value / TWO_32);
    array.writeInt32BE(8, at);
    array.writeInt32BE(high, at + 4);
    array.writeUInt32BE(value - high * TWO_32, at + 8);
    at += 12;
  }
  return array;
}

export function booleans<T>(rows: readonly T[], valueOf: (row: T) => boolean): Buffer {
  const array = arrayOf('bool', rows.length, rows.length);
  let at = HEADER_BYTES;
  for (const row of rows) {
    array.writeInt32BE(1, at);
    array[at + 4] = valueOf(row) ? 1 : 0;
    at += 5;
  }
  return array;
}

/** Byte strings of one length, given as hex. */
export function byteStrings<T>(rows: readonly T[], bytes: number, hexOf: (row: T) => string): Buffer {
  const array = arrayOf('bytea', rows.length, rows.length * bytes);
  let at = HEADER_BYTES;
  for (const row of rows) {
    array.writeInt32BE(bytes, at);
    if (array.write(hexOf(row), at + 4, 'hex') !== bytes) throw new RangeError(`Not ${bytes} bytes in hex`);
    at += 4 + bytes;
  }
  return array;
}

/** Well-formed Unicode. */
export function texts<T>(rows: readonly T[], valueOf: (row: T) => string): Buffer {
  let codeUnits = 0;
  for (const row of rows) codeUnits += valueOf(row).length;
  const array = arrayOf('text', rows.length, codeUnits * UTF8_BYTES_PER_CODE_UNIT_MAX);
  let at = HEADER_BYTES;
  for (const row of rows) {
    const bytes = array.write(valueOf(row), at + 4, 'utf8');
    array.writeInt32BE(bytes, at);
    at += 4 + bytes;
  }
  return array.subarray(0, at);
}

/** Where the bytes of an element begin in an array of keys, made by {@link byteStrings}. */
export function byteStringAt(index: number): number {
  return HEADER_BYTES + index * (4 + KEY_BYTES) + 4;
}

/** Some of the keys of such an array, by where their bytes begin. */
export function bytesAt(keys: Buffer, places: readonly number[]): Buffer {
  const array = arrayOf('bytea', places.length, places.length * KEY_BYTES);
  let to = HEADER_BYTES;
  for (const at of places) {
    keys.copy(array, to, at - 4, at + KEY_BYTES);
    to += 4 + KEY_BYTES;
  }
  return array;
}

/** Of 32 bits. */
export function integers(values: readonly number[]): Buffer {
  const array = arrayOf('int4', values.length, values.length * 4);
  let at = HEADER_BYTES;
  for (const value of values) {
    array.writeInt32BE(4, at);
    array.writeInt32BE(value, at + 4);
    at += 8;
  }
  return array;
}
