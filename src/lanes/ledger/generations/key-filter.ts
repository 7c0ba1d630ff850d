/**
 * A split block Bloom filter (as in Apache Parquet): a key has one block of 256 bits, and in each of the block's eight words
 * one bit. A look-up touches one line of the cache, and one key in about 100 is taken for one that is there. Keys are
 * SHA-256, so their own bytes are the hash.
 */
const BITS_PER_KEY = 10;
const BLOCK_BYTES = 32;
const WORDS = 8;
const WORD_BYTES = 4;
const TWO_32 = 2 ** 32;

/** What of a key is looked at: four bytes say which block, eight more which bit of each word. */
export const KEY_HEAD_BYTES = 12;

export class KeyFilter {
  readonly #bits: Uint8Array;
  readonly #blocks: number;

  private constructor(bits: Uint8Array) {
    this.#bits = bits;
    this.#blocks = bits.length / BLOCK_BYTES;
  }

  /** An empty one with room for so many keys; with more it says yes more often, and never no to what was added. */
  static forKeys(keys: number): KeyFilter {
    const blocks = Math.max(1, Math.ceil((keys * BITS_PER_KEY) / (BLOCK_BYTES * 8)));
    return new KeyFilter(new Uint8Array(blocks * BLOCK_BYTES));
  }

  /** @throws RangeError for what no filter was saved as. */
  static of(saved: Uint8Array): KeyFilter {
    if (saved.length === 0 || saved.length % BLOCK_BYTES !== 0)
      throw new RangeError(`No filter: ${saved.length} bytes`);
    return new KeyFilter(saved);
  }

  get bytes(): Uint8Array {
    return this.#bits;
  }

  /** @param at where the key begins in `keys`. */
  add(keys: Buffer, at: number): void {
    const block = this.#blockOf(keys, at);
    for (let word = 0; word < WORDS; word += 1) {
      const bit = keys[at + 4 + word] as number;
      const byte = block + word * WORD_BYTES + ((bit >>> 3) & 3);
      this.#bits[byte] = (this.#bits[byte] as number) | (1 << (bit & 7));
    }
  }

  /** False where the key was surely not added. */
  mayHold(keys: Buffer, at: number): boolean {
    const block = this.#blockOf(keys, at);
    for (let word = 0; word < WORDS; word += 1) {
      const bit = keys[at + 4 + word] as number;
      if ((((this.#bits[block + word * WORD_BYTES + ((bit >>> 3) & 3)] as number) >>> (bit & 7)) & 1) === 0)
        return false;
    }
    return true;
  }

  #blockOf(keys: Buffer, at: number): number {
    return Math.floor((keys.readUInt32BE(at) * this.#blocks) / TWO_32) * BLOCK_BYTES;
  }
}
