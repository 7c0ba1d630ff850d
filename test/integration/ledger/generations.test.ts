import fc from 'fast-check';
import type { Client } from 'pg';
import { trialBalance } from '../../../src/lanes/ledger/reads/trial-balance';
import { EntryRepository } from '../../../src/lanes/ledger/reads/entry.repository';
import { entriesOfAccount, entryOfKey } from '../../../src/lanes/ledger/reads/entry.statements';
import { rollUp } from '../../../src/lanes/ledger/balances/balance.statements';
import { KeyFilter } from '../../../src/lanes/ledger/generations/key-filter';
import { KnownGenerations } from '../../../src/lanes/ledger/generations/known-generations';
import type { LedgerItem } from '../../../src/lanes/ledger/ledger';
import { JournalRepository } from '../../../src/lanes/ledger/write/journal.repository';
import { insertEntries, lookUpKeys } from '../../../src/lanes/ledger/write/journal.statements';
import {
  journalOf,
  ledgerItem,
  type LedgerProcess,
  openLedgerProcess,
  resultOf,
  send,
} from '../../fixtures/ledger-lane';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

/*
 * A key stands in the journal once, for ever, on whichever side of a turn of the generations its twins arrive; and what is
 * read goes over the turns as if there were none.
 */

/** Turns as soon as there is an entry. */
const SMALL = { flushRowsMax: 20, flushWaitMsMax: 2, generationBytesMax: 1 };

let test: TestDatabase;
let owner: Client;
let lane: LedgerProcess;
let runs = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('ledger');
  lane = await openLedgerProcess(test, { connections: 5, limits: SMALL });
});

async function generationOf(name: string): Promise<number | undefined> {
  const { rows } = await owner.query<{ generation: number }>(
    `SELECT generation FROM ledger_journal WHERE external_transaction_id = $1`,
    [name],
  );
  return rows[0]?.generation;
}

async function currentGeneration(): Promise<number> {
  return lane.known.refresh();
}

/** Prepares and turns; how many generations there are grows by one. */
async function turn(): Promise<void> {
  await owner.query('SELECT ledger_prepare_generation()');
  const { rows } = await owner.query<{ generation: number | null }>('SELECT ledger_roll_generation(1) AS generation');
  expect(rows[0]?.generation).not.toBeNull();
}

describe('the turn', () => {
  it('comes when the table has as many bytes as it may, and not before; the next table is there already', async () => {
    const before = await currentGeneration();
    const roll = async (bytes: number): Promise<number | null | undefined> => {
      const { rows } = await owner.query<{ generation: number | null }>(
        'SELECT ledger_roll_generation($1) AS generation',
        [bytes],
      );
      return rows[0]?.generation;
    };
    expect(await roll(1)).toBeNull();
    await send(lane.buffer, [ledgerItem('first of all')]);
    expect(await roll(8_193)).toBeNull();
    expect(await roll(8_192)).toBe(before + 1);
    // Its successor is not prepared: the journal waits for it rather than turn into nothing.
    await send(lane.buffer, [ledgerItem('second of all')]);
    expect(await roll(1)).toBeNull();
    await owner.query('SELECT ledger_prepare_generation()');
    expect(await roll(1)).toBe(before + 2);
    expect(await generationOf('first of all')).toBe(before);
    expect(await generationOf('second of all')).toBe(before + 1);
  });

  it('of two processes is made once', async () => {
    await send(lane.buffer, [ledgerItem('before two turn')]);
    const before = await currentGeneration();
    await owner.query('SELECT ledger_prepare_generation()');
    const clients = await Promise.all(Array.from({ length: 4 }, () => test.ownerClient('ledger')));
    await Promise.all(clients.map((client) => client.query('SELECT ledger_roll_generation(1)')));
    expect(await currentGeneration()).toBe(before + 1);
  });

  it('waits for a transaction that has written to the old generation, and gives up after a moment', async () => {
    const writer = await test.ownerClient('ledger');
    const item = ledgerItem('held over the turn');
    await writer.query('BEGIN');
    const repository = new JournalRepository({
      query: async (statement, values) => (await writer.query(statement.text, [...values])).rows as never,
    });
    await repository.insert([{ item, wanted: true, inDoubt: false, settle: () => undefined }], 1);
    await owner.query('SELECT ledger_prepare_generation()');
    await expect(owner.query('SELECT ledger_roll_generation(1)')).rejects.toMatchObject({ code: '55P03' });
    await writer.query('COMMIT');
    await turn();
    expect((await send(lane.buffer, [item])).map(resultOf)).toEqual(['duplicate']);
  });
});

describe('a key', () => {
  it('of a sealed generation is a duplicate, with and without filters, for a process that knows and one that does not', async () => {
    const old = Array.from({ length: 60 }, (_, n) => ledgerItem(`sealed ${n}`));
    const first = await send(lane.buffer, old);
    await turn();
    // It still takes the sealed generation for the current one, and has no filter of it.
    expect(await send(lane.buffer, old)).toEqual(first.map((outcome) => ({ ...outcome, duplicate: true })));
    await lane.keeper.run();
    expect(lane.known.withoutFilter()).toEqual([]);
    expect(await send(lane.buffer, old)).toEqual(first.map((outcome) => ({ ...outcome, duplicate: true })));
    const conflicting = old.map((item) => ({ ...item, amountMinor: 5 }));
    expect(new Set((await send(lane.buffer, conflicting)).map(resultOf))).toEqual(
      new Set(['ERR_IDEMPOTENCY_CONFLICT']),
    );
    const fresh = await openLedgerProcess(test, { connections: 3, limits: SMALL });
    expect((await send(fresh.buffer, old)).map(resultOf)).toEqual(old.map(() => 'duplicate'));
    await fresh.keeper.open();
    expect(fresh.known.withoutFilter()).toEqual([]);
    expect((await send(fresh.buffer, old)).map(resultOf)).toEqual(old.map(() => 'duplicate'));
    await fresh.close();
    expect((await journalOf(owner, 'sealed ')).length).toBe(60);
  });

  it('is answered from a sealed generation before its account is looked at', async () => {
    await owner.query(`INSERT INTO ledger_accounts (account_id, currency, clearing_no)
      SELECT 'ACC-SHUT', 'USD', account_no FROM ledger_accounts WHERE account_id = 'CLEARING-USD'`);
    const booked = ledgerItem('then shut', { accountId: 'ACC-SHUT' });
    await send(lane.buffer, [booked]);
    await turn();
    await turn2();
    await owner.query(`UPDATE ledger_accounts SET status = 'CLOSED' WHERE account_id = 'ACC-SHUT'`);
    expect((await send(lane.buffer, [booked])).map(resultOf)).toEqual(['duplicate']);
  });

  /** A turn that another process made, after which there is an entry again. */
  async function turn2(): Promise<void> {
    const other = await openLedgerProcess(test, { connections: 2, limits: SMALL });
    await send(other.buffer, [ledgerItem(`between ${(runs += 1)}`)]);
    await other.close();
    await turn();
  }
});

interface Step {
  /** Which transactions are sent, by which of two processes; or a turn, or the upkeep of one of them. */
  readonly send?: { readonly transactions: readonly number[]; readonly by: 0 | 1 };
  readonly turn?: true;
  readonly upkeep?: 0 | 1;
}

const TRANSACTIONS = 12;
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      send: fc.record({
        transactions: fc.uniqueArray(fc.nat(TRANSACTIONS - 1), { minLength: 1, maxLength: 8 }),
        by: fc.constantFrom<0 | 1>(0, 1),
      }),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ turn: true }) },
  { weight: 1, arbitrary: fc.record({ upkeep: fc.constantFrom<0 | 1>(0, 1) }) },
);
/** Rounds of steps that happen at once. */
const rounds = fc.array(fc.array(step, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 6 });

/** Entries that came to their generation after it was sealed, or are numbered as if they had. */
async function outOfBounds(prefix: string): Promise<string | undefined> {
  const { rows } = await owner.query<{ wrong: string }>(
    `SELECT count(*) AS wrong FROM ledger_journal j JOIN ledger_generations g USING (generation)
     LEFT JOIN ledger_generations before ON before.generation = g.generation - 1
     WHERE starts_with(j.external_transaction_id, $1) AND (j.id >= g.end_id OR j.id < before.end_id)`,
    [prefix],
  );
  return rows[0]?.wrong;
}

/** Every transaction is new exactly once, and its id is the same in every answer, whatever turned meanwhile. */
function exactlyOnce(processes: readonly [LedgerProcess, LedgerProcess]) {
  return fc.asyncProperty(rounds, async (all) => {
    const run = `turns-${(runs += 1)}`;
    const news = new Map<string, number>();
    const ids = new Map<string, Set<string>>();
    const play = async ({ send: sent, turn: turns, upkeep }: Step): Promise<void> => {
      if (turns) {
        await owner.query('SELECT ledger_prepare_generation()');
        // Writers under way may be too slow for it; it is tried again the next time.
        await owner.query('SELECT ledger_roll_generation(1)').catch(() => undefined);
      }
      if (upkeep !== undefined) await processes[upkeep].keeper.run().catch(() => undefined);
      if (sent === undefined) return;
      const items: LedgerItem[] = sent.transactions.map((transaction) => ledgerItem(`${run} ${transaction}`));
      const outcomes = await send(processes[sent.by].buffer, items, `caller ${sent.by}`);
      outcomes.forEach((outcome, index) => {
        const key = items[index]?.idempotencyKey ?? '';
        if (outcome.status === 'FAILED') throw new Error(outcome.code);
        if (!outcome.duplicate) news.set(key, (news.get(key) ?? 0) + 1);
        ids.set(key, (ids.get(key) ?? new Set()).add(outcome.entryId));
      });
    };
    for (const round of all) await Promise.all(round.map(play));
    const lines = await journalOf(owner, `${run} `);
    expect(lines.length).toBe(ids.size);
    expect(await outOfBounds(`${run} `)).toBe('0');
    for (const { key, id } of lines) {
      expect({ key, news: news.get(key), ids: [...(ids.get(key) ?? [])] }).toEqual({ key, news: 1, ids: [id] });
    }
  });
}

describe('whatever turns while two processes write', () => {
  it('a key is new exactly once and keeps its id', async () => {
    const other = await openLedgerProcess(test, { connections: 4, limits: SMALL });
    await fc.assert(exactlyOnce([lane, other]), { numRuns: 60 });
    expect([...lane.failures, ...other.failures].filter(({ failure }) => failure !== 'transient')).toEqual([]);
    await other.close();
  });
});

describe('reads go over the turns', () => {
  it('pages of an account, one transaction, balances and the trial balance', async () => {
    await owner.query(`INSERT INTO ledger_accounts (account_id, currency, clearing_no)
      SELECT 'ACC-PAGES', 'USD', account_no FROM ledger_accounts WHERE account_id = 'CLEARING-USD'`);
    const names: string[] = [];
    for (let generation = 0; generation < 4; generation += 1) {
      for (let n = 0; n < 3; n += 1) {
        const name = `pages ${generation}-${n}`;
        names.push(name);
        await send(lane.buffer, [ledgerItem(name, { accountId: 'ACC-PAGES', amountMinor: 10 })]);
      }
      if (generation === 1) await lane.rollUp.run();
      if (generation < 3) await turn();
    }
    const entries = new EntryRepository(lane.database);
    const seen: string[] = [];
    let after = 0n;
    for (let page = 0; page < 20; page += 1) {
      const found = await entries.ofAccount('ACC-PAGES', after, 2);
      if (found.length === 0) break;
      seen.push(...found.map(({ externalTransactionId }) => externalTransactionId));
      after = BigInt(found.at(-1)?.id ?? 0);
    }
    expect(seen).toEqual(names);
    expect((await entries.ofKey(ledgerItem('pages 1-1').idempotencyKey))?.externalTransactionId).toBe('pages 1-1');
    const balance = async (): Promise<string | undefined> => {
      const { rows } = await owner.query<{ balance: string }>(
        `SELECT (credits_minor - debits_minor)::text AS balance FROM ledger_account_totals WHERE account_id = 'ACC-PAGES'`,
      );
      return rows[0]?.balance;
    };
    expect(await balance()).toBe('120');
    expect((await trialBalance(lane.database)).balanced).toBe(true);
    await lane.keeper.run();
    await lane.rollUp.run();
    expect(await balance()).toBe('120');
    expect((await trialBalance(lane.database)).balanced).toBe(true);
    // What was summed of a sealed generation is what the balances are held against.
    await owner.query(`UPDATE ledger_generation_sums SET debits_minor = debits_minor + 1
      WHERE account_no = (SELECT account_no FROM ledger_accounts WHERE account_id = 'CLEARING-USD')
        AND generation = (SELECT max(generation) FROM ledger_generation_sums)`);
    expect((await trialBalance(lane.database)).balanced).toBe(false);
  });
});

describe('plans', () => {
  it.each([
    ['a flush', insertEntries, 'on'],
    ['a look-up', lookUpKeys, 'on'],
    ['a page', entriesOfAccount, 'on'],
    ['one transaction', entryOfKey, 'on'],
    ['a roll-up', rollUp, 'off'],
  ] as const)(
    'of %s reads no generation whole, however small they were when it was made',
    async (_what, { text }, scan) => {
      const planner = await test.ownerClient('ledger');
      await planner.query(`SET enable_seqscan = ${scan}`);
      const { rows } = await planner.query<Record<string, string>>(`EXPLAIN (GENERIC_PLAN) ${text}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toMatch(/Index (Only )?Scan.* on ledger_journal_\d+/);
      expect(plan).not.toMatch(/Seq Scan on ledger_journal_/);
    },
  );
});

/** Last of all: what these processes write is wrong for ever. */
describe('the property notices', () => {
  async function isCaught(planted: LedgerProcess): Promise<void> {
    const { failed } = await fc.check(exactlyOnce([planted, lane]), { numRuns: 100, endOnFailure: true, seed: 1 });
    expect(failed).toBe(true);
    await planted.close();
  }

  it('a filter that forgets', async () => {
    const planted = await openLedgerProcess(test, { connections: 3, limits: SMALL });
    const adopt = planted.known.adopt.bind(planted.known);
    planted.known.adopt = (generation) => adopt(generation, KeyFilter.forKeys(1));
    await isCaught(planted);
  });

  it('a write that does not ask whether its generation is the current one', async () => {
    const planted = await openLedgerProcess(test, {
      connections: 3,
      limits: SMALL,
      journalOf: (_right, database) => {
        const store = {
          query: (statement: { name: string; text: string }, values: readonly unknown[]) =>
            database.query(
              statement === insertEntries
                ? { name: 'unfenced', text: statement.text.replace('AND end_id IS NULL', '') }
                : statement,
              values,
            ),
        };
        return new JournalRepository(store as never, new KnownGenerations(store as never));
      },
    });
    await isCaught(planted);
  });
});
