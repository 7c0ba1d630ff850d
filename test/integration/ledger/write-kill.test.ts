import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import type { ItemOutcome, LedgerItem } from '../../../src/lanes/ledger/ledger';
import {
  journalOf,
  ledgerItem,
  type LedgerProcess,
  openLedgerProcess,
  resultOf,
  send,
} from '../../fixtures/ledger-lane';
import { startOwnCluster, type TestPostgres } from '../../support/services';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { until } from '../platform/until';

const BATCH = 100;

let cluster: TestPostgres;
let test: TestDatabase;
let lane: LedgerProcess;

beforeAll(async () => {
  cluster = await startOwnCluster({ durable: true });
  test = await createTestDatabase(cluster);
  lane = await openLedgerProcess(test, { limits: { outcomeMsMax: 3_000, generationBytesMax: 1 } });
});

interface Sent {
  readonly item: LedgerItem;
  /** Every answer it was given, in order. */
  readonly answers: ItemOutcome[];
}

/** Sends a batch again, whole, for as long as something in it may succeed yet; a client that got no room waits as asked. */
async function sendUntilCertain(batch: readonly Sent[], caller: string): Promise<void> {
  for (let tries = 0; tries < 60; tries += 1) {
    const open = batch.filter(({ answers }) => answers.at(-1)?.status !== 'COMMITTED');
    if (open.length === 0) return;
    const outcomes = await send(
      lane.buffer,
      open.map(({ item }) => item),
      caller,
    ).catch((error: unknown) => {
      if ((error as Error).message === 'no_room' || (error as Error).message === 'callers_half') return null;
      throw error;
    });
    if (outcomes === null) await delay(100);
    else outcomes.forEach((outcome, n) => open[n]?.answers.push(outcome));
  }
  throw new Error('Never certain');
}

/** 8,000 items a second of two callers, for as long as it is told. */
function offer(name: string): { readonly sent: Sent[]; stop(): Promise<void> } {
  const sent: Sent[] = [];
  const running: Promise<void>[] = [];
  let stopped = false;
  const loop = (async () => {
    for (let n = 0; !stopped; n += 1) {
      const batch = Array.from({ length: BATCH }, (_, k) => ({ item: ledgerItem(`${name} ${n}-${k}`), answers: [] }));
      sent.push(...batch);
      running.push(sendUntilCertain(batch, `caller ${n % 2}`));
      await delay(12);
    }
  })();
  return {
    sent,
    stop: async () => {
      stopped = true;
      await loop;
      await Promise.all(running);
    },
  };
}

async function audit(owner: Client, name: string, sent: readonly Sent[]): Promise<void> {
  const lines = await journalOf(owner, `${name} `);
  const idByKey = new Map(lines.map(({ key, id }) => [key, id]));
  expect(lines.length).toBe(sent.length);
  expect(idByKey.size).toBe(sent.length);
  for (const { item, answers } of sent) {
    const last = answers.at(-1);
    expect(last?.status === 'COMMITTED' && last.entryId).toBe(idByKey.get(item.idempotencyKey));
    // Whoever was told that it is committed was told the truth, and nobody was told to give up.
    for (const answer of answers) {
      expect(['new', 'duplicate', 'ERR_STORE_UNAVAILABLE', 'ERR_OUTCOME_UNKNOWN']).toContain(resultOf(answer));
    }
    const [first] = answers;
    if (answers.length === 1) expect(first && resultOf(first)).toBe('new');
  }
}

/** Has statements of flushes wait in the server, so that a kill surely meets some. */
async function holdFlushes(): Promise<void> {
  const locker = await test.ownerClient('ledger');
  await locker.query('BEGIN; LOCK TABLE ledger_journal IN EXCLUSIVE MODE');
  await until(() => lane.buffer.flushesInFlight > 1);
  await delay(20);
}

/** Has a turn of the generations stand where it holds off every flush: done, and not committed. */
async function holdTurn(): Promise<void> {
  const turner = await test.ownerClient('ledger');
  await turner.query('BEGIN');
  // It may give up waiting for a flush, or meet another turn, and is tried again.
  for (let turned = false, tries = 0; !turned; tries += 1) {
    if (tries === 100) throw new Error('Never turned');
    await turner.query('SAVEPOINT turn');
    await turner.query('SELECT ledger_prepare_generation()');
    turned = await turner.query<{ generation: number | null }>('SELECT ledger_roll_generation(1) AS generation').then(
      ({ rows }) => rows[0]?.generation !== null,
      () => false,
    );
    if (!turned) await turner.query('ROLLBACK TO turn');
  }
  await until(() => lane.buffer.flushesInFlight > 1);
  await delay(20);
}

/** Turns again and again; what cannot be done in a moment is done in the next. */
function turnOften(): { stop(): Promise<void> } {
  let stopped = false;
  const turning = (async () => {
    while (!stopped) {
      await lane.keeper.run().catch(() => undefined);
      await delay(100);
    }
  })();
  return {
    stop: () => {
      stopped = true;
      return turning;
    },
  };
}

it('SIGKILL of PostgreSQL under load, at turns of the generations: each item is in the journal exactly once', async () => {
  const load = offer('turn');
  const turning = turnOften();
  for (const hold of [delay.bind(null, 20), holdTurn, holdTurn]) {
    await delay(800);
    await hold();
    await cluster.kill();
    await delay(150);
    await cluster.restart();
  }
  await delay(1_000);
  await load.stop();
  await turning.stop();
  const owner = await test.ownerClient('ledger');
  const { rows } = await owner.query<{ generations: number; wrong: number }>(
    `SELECT (SELECT count(*)::integer FROM ledger_generations) AS generations,
       (SELECT count(*)::integer FROM ledger_journal j JOIN ledger_generations g USING (generation)
        LEFT JOIN ledger_generations before ON before.generation = g.generation - 1
        WHERE j.id >= g.end_id OR j.id < before.end_id) AS wrong`,
  );
  expect(rows[0]?.generations).toBeGreaterThan(5);
  expect(rows[0]?.wrong).toBe(0);
  await audit(owner, 'turn', load.sent);
  await until(() => lane.room.items === 0 && lane.buffer.flushesInFlight === 0);
}, 60_000);

it('SIGKILL of PostgreSQL under load, twice: each item is in the journal exactly once, and answered', async () => {
  const load = offer('kill');
  for (let kills = 0; kills < 2; kills += 1) {
    await delay(1_200);
    if (kills === 1) await holdFlushes();
    await cluster.kill();
    await delay(150);
    await cluster.restart();
  }
  await delay(1_000);
  await load.stop();
  expect(lane.failures.some(({ failure }) => failure === 'in_doubt')).toBe(true);
  await audit(await test.ownerClient('ledger'), 'kill', load.sent);
  await until(() => lane.room.items === 0 && lane.buffer.flushesInFlight === 0);
}, 60_000);

it('a frozen PostgreSQL fills the buffer, which sheds, answers in time, and drains by itself', async () => {
  const load = offer('frozen');
  await delay(500);
  cluster.freeze();
  let shed = false;
  const probing = (async () => {
    for (let n = 0; n < 60 && !shed; n += 1) {
      const refused = await Promise.race([
        send(
          lane.buffer,
          Array.from({ length: 2_500 }, (_, k) => ledgerItem(`probe ${n}-${k}`)),
          'probe',
        ).then(
          () => false,
          () => true,
        ),
        delay(50).then(() => false),
      ]);
      shed ||= refused;
    }
  })();
  await delay(4_000);
  await probing;
  const unknown = load.sent.filter(({ answers }) =>
    answers.some((answer) => resultOf(answer) === 'ERR_OUTCOME_UNKNOWN'),
  );
  expect(unknown.length).toBeGreaterThan(0);
  expect(lane.room.items).toBeLessThanOrEqual(10_000);
  cluster.thaw();
  await delay(500);
  await load.stop();
  expect(shed).toBe(true);
  await audit(await test.ownerClient('ledger'), 'frozen', load.sent);
  await until(() => lane.room.items === 0 && lane.buffer.flushesInFlight === 0, 15_000);
}, 60_000);
