import fc from 'fast-check';
import { Client } from 'pg';
import {
  bigints,
  booleans,
  byteStrings,
  lengthOfArray,
  texts,
  timestamps,
} from '../../../src/lanes/ledger/write/array-parameters';
import { atEndOfFile } from '../../support/closers';
import { testPostgres } from '../../support/services';

let client: Client;

beforeAll(async () => {
  client = new Client({ connectionString: (await testPostgres()).adminUrl() });
  await client.connect();
  atEndOfFile(() => client.end());
});

interface Row {
  readonly key: string;
  readonly text: string;
  readonly flag: boolean;
  readonly number: number;
  readonly micros: number;
}

/** Everything that an item may hold once it is validated: no NUL, no lone surrogate. */
const row: fc.Arbitrary<Row> = fc.record({
  key: fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 }),
  text: fc.string({ unit: 'binary', maxLength: 40 }).map((text) => text.replaceAll('\0', '')),
  flag: fc.boolean(),
  number: fc.maxSafeInteger(),
  // From the year 1 to 2255, as RFC 3339 and safe integers go.
  micros: fc.integer({ min: -62_135_596_800_000_000 / 8, max: Number.MAX_SAFE_INTEGER - 946_684_800_000_000 }),
});

it('arrays arrive in PostgreSQL as they were, element by element', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 500, size: 'large' }), async (rows) => {
      const columns = [
        byteStrings(rows, 32, ({ key }) => key),
        texts(rows, ({ text }) => text),
        booleans(rows, ({ flag }) => flag),
        bigints(rows, ({ number }) => number),
        timestamps(rows, ({ micros }) => micros),
      ];
      for (const column of columns) expect(lengthOfArray(column)).toBe(rows.length);
      const { rows: back } = await client.query<Record<string, unknown>>(
        `SELECT encode(k, 'hex') AS key, t AS text, f AS flag, n::text AS number,
           (extract(epoch FROM at) * 1000000)::bigint::text AS micros
         FROM unnest($1::bytea[], $2::text[], $3::boolean[], $4::bigint[], $5::timestamptz[]) AS u (k, t, f, n, at)`,
        columns,
      );
      expect(back).toEqual(
        rows.map(({ number, micros, ...same }) => ({ ...same, number: String(number), micros: String(micros) })),
      );
    }),
    { numRuns: 60 },
  );
});

it('what is no safe integer, or not of its length, is never sent', () => {
  expect(() => bigints([1.5], (value) => value)).toThrow(RangeError);
  expect(() => bigints([2 ** 53], (value) => value)).toThrow(RangeError);
  expect(() => byteStrings(['ab'], 32, (value) => value)).toThrow(RangeError);
  expect(() => byteStrings(['zz'.repeat(32)], 32, (value) => value)).toThrow(RangeError);
});
