import { hash } from 'node:crypto';
import fc from 'fast-check';
import { KEY_HEAD_BYTES, KeyFilter } from './key-filter';

function keyOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

it('never says no to a key that was added, however many there are, and after it was saved', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 })), fc.nat(200), (added, room) => {
      const filter = KeyFilter.forKeys(room);
      const keys = Buffer.concat(added);
      for (let at = 0; at < keys.length; at += 32) filter.add(keys, at);
      const restored = KeyFilter.of(Buffer.from(filter.bytes));
      for (let at = 0; at < keys.length; at += 32) {
        expect(filter.mayHold(keys, at)).toBe(true);
        expect(restored.mayHold(keys, at)).toBe(true);
      }
    }),
  );
});

it('says yes to about one foreign key in 100, and to none while it is empty', () => {
  const count = 50_000;
  const filter = KeyFilter.forKeys(count);
  expect(filter.mayHold(keyOf('any'), 0)).toBe(false);
  for (let n = 0; n < count; n += 1) filter.add(keyOf(`in ${n}`), 0);
  let wrong = 0;
  for (let n = 0; n < count; n += 1) if (filter.mayHold(keyOf(`out ${n}`), 0)) wrong += 1;
  expect(wrong / count).toBeGreaterThan(0.005);
  expect(wrong / count).toBeLessThan(0.02);
  expect(filter.bytes.length).toBe(62_528);
});

it('looks at the head of a key only', () => {
  const filter = KeyFilter.forKeys(10);
  const key = keyOf('one');
  filter.add(key.subarray(0, KEY_HEAD_BYTES), 0);
  expect(filter.mayHold(key, 0)).toBe(true);
});

it('refuses what was not saved by one', () => {
  for (const length of [0, 31, 33]) expect(() => KeyFilter.of(new Uint8Array(length))).toThrow(RangeError);
});
