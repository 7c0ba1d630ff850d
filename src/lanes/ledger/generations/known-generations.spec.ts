import { hash } from 'node:crypto';
import { byteStrings, lengthOfArray } from '../write/array-parameters';
import { KeyFilter } from './key-filter';
import { KnownGenerations } from './known-generations';

const KEYS = ['in 1', 'in 2', 'in 3', 'nowhere'].map((text) => hash('sha256', text));
const asked = byteStrings(KEYS, 32, (key) => key);
/** Of one block. */
const FILTER_BYTES = 32;

let answers: { generation: number; sealed: boolean }[][];

function generations(current: number): { generation: number; sealed: boolean }[] {
  return Array.from({ length: current }, (_, index) => ({ generation: index + 1, sealed: index + 1 < current }));
}

function known(filterBytesMax?: number): KnownGenerations {
  return new KnownGenerations({ query: () => Promise.resolve((answers.shift() ?? []) as never) }, filterBytesMax);
}

function filterOf(text: string): KeyFilter {
  const filter = KeyFilter.forKeys(1);
  filter.add(hash('sha256', text, 'buffer'), 0);
  return filter;
}

/** `key@generation`, as it would go into the statement. */
function suspicions(of: KnownGenerations): string[] {
  const { keys, generations: where } = of.suspicionsOf(asked, KEYS.length);
  return Array.from({ length: lengthOfArray(keys) }, (_, n) => {
    const key = keys.toString('hex', 20 + n * 36 + 4, 20 + n * 36 + 36);
    return `${KEYS.indexOf(key) + 1}@${where.readInt32BE(20 + n * 8 + 4)}`;
  });
}

it('suspects every key of a sealed generation that it has no filter of, and of others what the filter may hold', async () => {
  answers = [generations(3)];
  const each = known();
  expect(await each.current()).toBe(3);
  expect(suspicions(each)).toEqual(['1@1', '2@1', '3@1', '4@1', '1@2', '2@2', '3@2', '4@2']);
  each.adopt(1, filterOf('in 1'));
  expect(suspicions(each)).toEqual(['1@1', '1@2', '2@2', '3@2', '4@2']);
  each.adopt(2, filterOf('in 2'));
  expect(suspicions(each)).toEqual(['1@1', '2@2']);
});

it('asks once, and an answer that is older than what is known changes nothing', async () => {
  answers = [generations(4), generations(2), generations(5)];
  const each = known();
  expect([await each.current(), await each.current()]).toEqual([4, 4]);
  expect(await each.refresh()).toBe(4);
  expect(await each.refresh()).toBe(5);
  expect(each.withoutFilter()).toEqual([4, 3, 2, 1]);
});

it('keeps the newest filters where there is no room for all, and asks for no older one again', async () => {
  answers = [generations(4), generations(5)];
  const each = known(2 * FILTER_BYTES);
  await each.refresh();
  for (const generation of each.withoutFilter()) each.adopt(generation, filterOf(`in ${generation}`));
  expect([each.filterBytes, suspicions(each)]).toEqual([2 * FILTER_BYTES, ['1@1', '2@1', '3@1', '4@1', '2@2', '3@3']]);
  expect(each.withoutFilter()).toEqual([]);
  await each.refresh();
  expect(each.withoutFilter()).toEqual([4]);
  each.adopt(4, filterOf('in 4'));
  expect([each.filterBytes, each.withoutFilter()]).toEqual([2 * FILTER_BYTES, []]);
  expect(suspicions(each).filter((suspicion) => !suspicion.endsWith('@1') && !suspicion.endsWith('@2'))).toEqual([
    '3@3',
  ]);
});

it('refuses a journal of which no generation is open', async () => {
  answers = [[{ generation: 1, sealed: true }]];
  await expect(known().refresh()).rejects.toThrow('No generation of the journal is open');
});
