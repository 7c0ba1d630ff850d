import type { Client } from 'pg';
import { type AuthorizationStatus, statusOf } from '../../../src/lanes/authorization/authorization';
import { newRowId } from '../../../src/lanes/authorization/authorization-id';
import {
  presentNewCapture,
  presentRefund,
  presentReversal,
} from '../../../src/lanes/authorization/moves/move.presenter';
import { expiryStatements } from '../../../src/lanes/authorization/expiry/expiry.statements';
import { moveStatements, statusSql } from '../../../src/lanes/authorization/moves/move.statements';
import { outboxStatements } from '../../../src/lanes/authorization/outbox/outbox.statements';
import { AUTHORIZATION_STATUSES, type Move, MOVES, moveTable } from '../../../src/lanes/authorization/moves/move-table';
import { addCards, addMerchants, heldOn, openTransactions, tryOnce } from '../../fixtures/authorization-lane';
import {
  addAccounts,
  imbalances,
  letExpire,
  type MovesProcess,
  openMovesProcess,
  sumsOf,
  tryMove,
} from '../../fixtures/authorization-moves';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let lane: MovesProcess;
let names = 0;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a', 'mer_poor');
  await addAccounts(owner, 'USD', 'mer_a');
  lane = await openMovesProcess(test);
});

interface Placed {
  readonly id: string;
  readonly card: string;
}

/** An authorization of 100 on a card of its own. */
async function place(options: { merchantId?: string; code?: string } = {}): Promise<Placed> {
  const card = `card ${(names += 1)}`;
  if (options.code !== '14') await addCards(owner, { token: card, limitMinor: options.code === '51' ? 99 : 1_000 });
  if (options.code === '51')
    await owner.query(`UPDATE cards SET transaction_limit_minor = 1000 WHERE token = $1`, [card]);
  const { authorization, result } = await tryOnce(lane.committer, card, {
    merchantId: options.merchantId ?? 'mer_a',
    cardToken: card,
    amountMinor: 100,
    currency: 'USD',
  });
  expect(result).toBe(options.code ?? '00');
  return { id: authorization?.rowId ?? '', card };
}

async function move(kind: 'capture' | 'reversal' | 'refund', target: string, amount: number | null = null) {
  return tryMove(lane.runner, { kind, target, amount });
}

async function moved(kind: 'capture' | 'reversal' | 'refund', target: string, amount: number | null = null) {
  const { result, record } = await move(kind, target, amount);
  expect(result).toBe('moved');
  if (record === null) throw new Error('No record');
  return record;
}

describe('the state table', () => {
  /** Brings a new authorization of 100 into a state; also a capture of it where there is one. */
  const arrange: Record<AuthorizationStatus, () => Promise<Placed & { capture?: string }>> = {
    APPROVED: async () => {
      const placed = await place();
      await moved('reversal', placed.id, 10);
      return placed;
    },
    DECLINED: () => place({ code: '51' }),
    PARTIALLY_CAPTURED: async () => {
      const placed = await place();
      return { ...placed, capture: (await moved('capture', placed.id, 40)).rowId };
    },
    CAPTURED: async () => {
      const placed = await place();
      await moved('reversal', placed.id, 50);
      return { ...placed, capture: (await moved('capture', placed.id, 50)).rowId };
    },
    REVERSED: async () => {
      const placed = await place();
      await moved('reversal', placed.id);
      return placed;
    },
    EXPIRED: async () => {
      const placed = await place();
      await moved('reversal', placed.id, 1);
      await letExpire(owner, placed.id);
      await lane.expiry.expire(100);
      return placed;
    },
  };

  async function attempt(what: Move, placed: Placed & { capture?: string }): Promise<string> {
    switch (what) {
      case 'capture':
        return (await move('capture', placed.id, 1)).result;
      case 'reverse':
        return (await move('reversal', placed.id, 1)).result;
      case 'refund':
        // Nothing was captured: there is no capture to name, and so nothing that could be refunded.
        return placed.capture === undefined ? 'ERR_INVALID_STATE' : (await move('refund', placed.capture, 1)).result;
      case 'expire': {
        await letExpire(owner, placed.id);
        return (await lane.expiry.expire(100)).expired === 1 ? 'moved' : 'ERR_INVALID_STATE';
      }
      default: {
        const never: never = what;
        throw new Error(String(never));
      }
    }
  }

  const cells = AUTHORIZATION_STATUSES.flatMap((status) =>
    MOVES.map((what): [AuthorizationStatus, Move, string] => {
      const rule = moveTable[status][what];
      return [status, what, rule === 'ERR_INVALID_STATE' ? rule : 'moved'];
    }),
  );

  it.each(cells)('%s × %s: %s', async (status, what, expected) => {
    const placed = await arrange[status]();
    const found = await lane.repository.findByRowId(placed.id);
    expect(found && statusOf(found, found.responseCode)).toBe(status);
    const held = await heldOn(owner, placed.card);
    const before = await sumsOf(owner, placed.id);
    expect(await attempt(what, placed)).toBe(expected);
    if (expected !== 'moved') {
      expect([await heldOn(owner, placed.card), await sumsOf(owner, placed.id)]).toEqual([held, before]);
    }
  });

  it('is judged by the database as by the code, on every small sum', async () => {
    const { rows } = await owner.query<Record<'c' | 'r' | 'e' | 'a', number> & { code: string; status: string }>(`
      SELECT c, r, e, a, code, (SELECT ${statusSql} FROM (SELECT a::bigint AS amount_minor, c::bigint AS captured_minor,
        r::bigint AS reversed_minor, e::bigint AS expired_minor, code AS response_code) AS row) AS status
      FROM generate_series(1, 3) a, generate_series(0, 3) c, generate_series(0, 3) r, generate_series(0, 3) e,
        unnest(ARRAY['00', '51']) code WHERE c + r + e <= a`);
    expect(rows.length).toBeGreaterThan(60);
    for (const { c, r, e, a, code, status } of rows) {
      const sums = { amountMinor: a, capturedMinor: c, reversedMinor: r, expiredMinor: e, refundedMinor: 0 };
      expect(status).toBe(statusOf(sums, code === '00' ? '00' : '51'));
    }
  });
});

describe('amounts', () => {
  it('of captures: one less than remains, all of it, one more', async () => {
    const { id } = await place();
    expect((await move('capture', id, 101)).result).toBe('ERR_AMOUNT_EXCEEDS_REMAINING');
    await moved('capture', id, 99);
    expect((await move('capture', id, 2)).result).toBe('ERR_AMOUNT_EXCEEDS_REMAINING');
    const last = await moved('capture', id, 1);
    expect(statusOf(last.authorization, '00')).toBe('CAPTURED');
    expect((await move('capture', id, 1)).result).toBe('ERR_INVALID_STATE');
    expect(await sumsOf(owner, id)).toEqual({ captured: '100', reversed: '0', expired: '0', refunded: '0' });
  });

  it('of reversals: likewise, and all that remains where none is given', async () => {
    const { id, card } = await place();
    expect((await move('reversal', id, 101)).result).toBe('ERR_AMOUNT_EXCEEDS_REMAINING');
    await moved('reversal', id, 99);
    expect(await heldOn(owner, card)).toEqual({ held: '1', summed: '1' });
    expect((await move('reversal', id, 2)).result).toBe('ERR_AMOUNT_EXCEEDS_REMAINING');
    expect((await moved('reversal', id)).amountMinor).toBe(1);
    expect((await move('reversal', id)).result).toBe('ERR_INVALID_STATE');
    expect(await heldOn(owner, card)).toEqual({ held: '0', summed: '0' });
  });

  it('of refunds: bounded by their own capture, not by the authorization’s', async () => {
    const { id, card } = await place();
    const first = await moved('capture', id, 30);
    const second = await moved('capture', id, 70);
    expect((await move('refund', first.rowId, 31)).result).toBe('ERR_AMOUNT_EXCEEDS_REMAINING');
    await moved('refund', first.rowId, 29);
    await moved('refund', first.rowId, 1);
    expect((await move('refund', first.rowId, 1)).result).toBe('ERR_INVALID_STATE');
    expect(await heldOn(owner, card)).toEqual({ held: '70', summed: '70' });
    const last = await moved('refund', second.rowId, 70);
    // A refund changes no status.
    expect(statusOf(last.authorization, '00')).toBe('CAPTURED');
    expect(await heldOn(owner, card)).toEqual({ held: '0', summed: '0' });
  });

  it('captured change nothing of what a card holds, and what is given back can be spent again', async () => {
    const { id, card } = await place();
    await moved('capture', id, 100);
    expect(await heldOn(owner, card)).toEqual({ held: '100', summed: '100' });
    await addCards(owner, { token: 'tight', limitMinor: 100 });
    const ask = (key: string) =>
      tryOnce(lane.committer, key, { merchantId: 'mer_a', cardToken: 'tight', amountMinor: 100, currency: 'USD' });
    const first = (await ask('tight 1')).authorization?.rowId ?? '';
    expect((await ask('tight 2')).result).toBe('51');
    const capture = await moved('capture', first, 60);
    expect((await ask('tight 3')).result).toBe('51');
    await moved('reversal', first);
    await moved('refund', capture.rowId, 60);
    expect((await ask('tight 4')).result).toBe('00');
  });
});

describe('expiry', () => {
  it('decides by expires_at, before the sweep: nothing is captured or reversed, and everybody reads EXPIRED', async () => {
    const { id, card } = await place();
    await letExpire(owner, id);
    expect((await move('capture', id, 1)).result).toBe('ERR_INVALID_STATE');
    expect((await move('reversal', id)).result).toBe('ERR_INVALID_STATE');
    const read = await lane.repository.findByRowId(id);
    expect(read).toMatchObject({ expiredMinor: 100 });
    expect(read && statusOf(read, '00')).toBe('EXPIRED');
    // Nobody has touched it yet; the sweep brings card and row up to what was decided.
    expect(await heldOn(owner, card)).toEqual({ held: '100', summed: '100' });
    await lane.expiry.expire(100);
    expect(await heldOn(owner, card)).toEqual({ held: '0', summed: '0' });
    expect(await lane.repository.findByRowId(id)).toEqual(read);
  });

  it('takes the rest only, once, and leaves the capture refundable', async () => {
    const { id, card } = await place();
    const capture = await moved('capture', id, 40);
    await letExpire(owner, id);
    expect(await lane.expiry.expire(100)).toEqual({ found: 1, expired: 1 });
    expect(await lane.expiry.expire(100)).toEqual({ found: 0, expired: 0 });
    expect(await sumsOf(owner, id)).toEqual({ captured: '40', reversed: '0', expired: '60', refunded: '0' });
    expect(await heldOn(owner, card)).toEqual({ held: '40', summed: '40' });
    const refund = await moved('refund', capture.rowId, 40);
    expect(statusOf(refund.authorization, '00')).toBe('CAPTURED');
    expect(await heldOn(owner, card)).toEqual({ held: '0', summed: '0' });
  });

  it('is taken along by a refund that comes before the sweep, and comes to the same', async () => {
    const { id, card } = await place();
    const capture = await moved('capture', id, 40);
    await letExpire(owner, id);
    const refund = await moved('refund', capture.rowId, 10);
    expect(refund.authorization).toMatchObject({ capturedMinor: 40, expiredMinor: 60, refundedMinor: 10 });
    expect(await sumsOf(owner, id)).toEqual({ captured: '40', reversed: '0', expired: '60', refunded: '10' });
    expect(await heldOn(owner, card)).toEqual({ held: '30', summed: '30' });
    expect(await lane.expiry.expire(100)).toEqual({ found: 0, expired: 0 });
  });
});

describe('keys', () => {
  const present = { capture: presentNewCapture, reversal: presentReversal, refund: presentRefund };

  it.each(['capture', 'reversal', 'refund'] as const)(
    'replay the first answer to a %s byte for byte, whatever has happened since',
    async (kind) => {
      const { id } = await place();
      const capture = await moved('capture', id, 50);
      const target = kind === 'refund' ? capture.rowId : id;
      const asked = { kind, target, amount: 20, key: `replay ${kind}` };
      const first = await tryMove(lane.runner, asked);
      expect(first.result).toBe('moved');
      await moved('refund', capture.rowId, 30);
      await moved('reversal', id);
      const second = await tryMove(lane.runner, asked);
      expect(second.result).toBe('replayed');
      const text = ({ record }: typeof first) => JSON.stringify(record && present[kind](record));
      expect(text(second)).toBe(text(first));
      expect((await tryMove(lane.runner, { ...asked, amount: 21 })).result).toBe('key_reused');
    },
  );

  it('of a refusal are free again', async () => {
    const { id } = await place();
    const asked = { kind: 'capture', target: id, key: 'refused' } as const;
    expect((await tryMove(lane.runner, { ...asked, amount: 101 })).result).toBe('ERR_AMOUNT_EXCEEDS_REMAINING');
    expect((await tryMove(lane.runner, { ...asked, amount: 100 })).result).toBe('moved');
    expect((await tryMove(lane.runner, { ...asked, amount: 100 })).result).toBe('replayed');
  });

  it('come before the state: the last capture is replayed, not refused', async () => {
    const { id } = await place();
    const asked = { kind: 'capture', target: id, amount: 100, key: 'all' } as const;
    expect((await tryMove(lane.runner, asked)).result).toBe('moved');
    expect((await tryMove(lane.runner, asked)).result).toBe('replayed');
  });

  it('of an older generation still count', async () => {
    const { id } = await place();
    const asked = { kind: 'capture', target: id, amount: 10, key: 'old' } as const;
    expect((await tryMove(lane.runner, asked)).result).toBe('moved');
    await owner.query(`SELECT roll_idempotency_generation('0')`);
    expect((await tryMove(lane.runner, asked)).result).toBe('replayed');
    expect((await sumsOf(owner, id)).captured).toBe('10');
  });
});

describe('what is not there', () => {
  it('is an id that nobody has, and one of another merchant', async () => {
    const { id } = await place();
    const capture = await moved('capture', id, 10);
    for (const kind of ['capture', 'reversal', 'refund'] as const) {
      expect((await move(kind, newRowId(), 1)).result).toBe('ERR_NOT_FOUND');
      const target = kind === 'refund' ? capture.rowId : id;
      const asked = { kind, target, amount: 1 };
      expect((await tryMove(lane.runner, { ...asked, merchants: ['mer_b'] })).result).toBe('ERR_NOT_FOUND');
      expect((await tryMove(lane.runner, { ...asked, merchants: [] })).result).toBe('ERR_NOT_FOUND');
      expect((await tryMove(lane.runner, { ...asked, merchants: ['mer_b', 'mer_a'] })).result).toBe('moved');
    }
  });

  it('declines, of an unknown card too, refuse every move', async () => {
    for (const code of ['51', '14']) {
      const { id } = await place({ code });
      expect((await move('capture', id, 1)).result).toBe('ERR_INVALID_STATE');
      expect((await move('reversal', id)).result).toBe('ERR_INVALID_STATE');
    }
  });

  it('a merchant without an account for the currency captures nothing until it has one, under the same key', async () => {
    const { id } = await place({ merchantId: 'mer_poor' });
    const asked = { kind: 'capture', target: id, amount: 10, key: 'poor' } as const;
    expect((await tryMove(lane.runner, asked)).result).toBe('ERR_NO_SETTLEMENT_ACCOUNT');
    expect((await sumsOf(owner, id)).captured).toBe('0');
    await addAccounts(owner, 'USD', 'mer_poor');
    expect((await tryMove(lane.runner, asked)).result).toBe('moved');
  });
});

it('each capture and refund leaves one event with what the ledger needs', async () => {
  const { id } = await place();
  const capture = await moved('capture', id, 40);
  const refund = await moved('refund', capture.rowId, 15);
  await moved('reversal', id, 5);
  const { rows } = await owner.query<Record<string, unknown>>(
    `SELECT event_id, type, merchant_id, account_id, amount_minor, currency, occurred_at, published_at FROM outbox
     WHERE event_id = ANY ($1::uuid[]) ORDER BY occurred_at, type DESC`,
    [[capture.rowId, refund.rowId]],
  );
  const common = { merchant_id: 'mer_a', account_id: 'ACC-mer_a', currency: 'USD', published_at: null };
  expect(rows).toEqual([
    { ...common, event_id: capture.rowId, type: 'SALE', amount_minor: '40', occurred_at: capture.createdAt },
    { ...common, event_id: refund.rowId, type: 'REFUND', amount_minor: '15', occurred_at: refund.createdAt },
  ]);
});

describe('the plans, made on empty tables', () => {
  it('scan nothing but the few rows that there are few of', async () => {
    const planner = await test.ownerClient('authorization');
    await planner.query(`SET plan_cache_mode = force_generic_plan`);
    const scans: string[] = [];
    for (const { name, text } of [...moveStatements, ...expiryStatements, ...outboxStatements]) {
      await planner.query(`PREPARE ${name} AS ${text}`);
      const parameters = Math.max(...[...text.matchAll(/\$(\d)/g)].map(([, n]) => Number(n)), 0);
      const values = Array.from({ length: parameters }, () => 'NULL').join(', ');
      const { rows } = await planner.query<{ 'QUERY PLAN': string }>(
        `EXPLAIN EXECUTE ${name}${parameters === 0 ? '' : `(${values})`}`,
      );
      for (const row of rows) {
        const table = /Seq Scan on (\S+)/.exec(row['QUERY PLAN'])?.[1];
        if (table !== undefined) scans.push(`${name}: ${table}`);
      }
    }
    // A page or two, whatever the load: the merchants' accounts of the demo and the two or three generations.
    const small = ['merchant_settlement_accounts', 'idempotency_generations'];
    expect(scans.filter((scan) => !small.some((table) => scan.endsWith(table)))).toEqual([]);
  });
});

it('after all of this every sum is right, and no session sits in a transaction', async () => {
  expect(await imbalances(owner)).toEqual([]);
  expect(await openTransactions(test)).toBe(0);
});
