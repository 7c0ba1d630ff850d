/** Crockford's base 32, without the letters that are taken for digits. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 26 characters of 5 bits hold 130; the first one therefore never exceeds 7. */
const SUFFIX = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

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
