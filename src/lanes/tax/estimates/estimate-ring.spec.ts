import { FakeClock } from '../../../../test/support/fake-clock';
import { EstimateRing } from './estimate-ring';
import { EstimateWriter } from './estimate-writer';
import type { ServedEstimate } from './served-estimate';

function served(id: string, lines = 1): ServedEstimate {
  return {
    id,
    scopeHash: Buffer.from(id),
    caller: 'checkout',
    request: {
      currency: 'USD',
      shipTo: { country: 'DE', region: null, postalCode: null },
      lines: Array.from({ length: lines }, (_, n) => ({ id: String(n), amountMinor: 1, taxCode: null })),
      shippingMinor: 0,
    },
    estimate: {
      taxMinor: 1,
      rate: '0.19',
      shippingTaxMinor: 0,
      lines: [],
      jurisdiction: 'DE',
      rateScope: 'country',
      certificateId: 'c',
      taxCodeIgnored: false,
    },
    servedAt: new Date(0),
  };
}

const idsOf = (all: readonly ServedEstimate[]): string[] => all.map(({ id }) => id);

describe('estimates in memory', () => {
  let lost = 0;
  const ring = (entriesMax: number, linesMax = 1_000): EstimateRing => {
    lost = 0;
    return new EstimateRing({ entriesMax, linesMax }, (count) => (lost += count));
  };

  it('hold as many as they may; with one more the oldest is lost, and counted', () => {
    const kept = ring(3);
    for (const id of ['a', 'b', 'c']) kept.note(served(id));
    expect([kept.size, lost]).toEqual([3, 0]);
    kept.note(served('d'));
    expect([idsOf(kept.oldest(9)), lost]).toEqual([['b', 'c', 'd'], 1]);
    expect(kept.find('a')).toBeNull();
    expect(kept.find('b')?.id).toBe('b');
  });

  it('are bounded by their lines as well', () => {
    const kept = ring(100, 10);
    kept.note(served('a', 4));
    kept.note(served('b', 6));
    expect(lost).toBe(0);
    kept.note(served('c', 5));
    expect([idsOf(kept.oldest(9)), lost]).toEqual([['c'], 2]);
  });

  it('give an order that is refused again no second place', () => {
    const kept = ring(3);
    for (const id of ['a', 'a', 'b', 'a']) kept.note(served(id));
    expect(idsOf(kept.oldest(9))).toEqual(['a', 'b']);
  });

  it('are written in batches, oldest first, and stay to be found until they are', async () => {
    const kept = ring(10);
    for (const id of ['a', 'b', 'c', 'd', 'e']) kept.note(served(id));
    const batches: string[][] = [];
    const totals = { written: 0, known: 0, lost: 0 };
    let found = true;
    const writer = new EstimateWriter({
      ring: kept,
      repository: {
        insert: (batch) => {
          batches.push(idsOf(batch));
          found &&= batch.every(({ id }) => kept.find(id) !== null);
          return Promise.resolve({ written: batch.length - 1, known: 0, lost: 1 });
        },
      },
      clock: new FakeClock(),
      flushEveryMs: 1_000,
      batchMax: 2,
      onWritten: ({ written, known, lost }) => {
        totals.written += written;
        totals.known += known;
        totals.lost += lost;
      },
      onFailed: () => undefined,
    });
    await writer.flush();
    expect(batches).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect([found, kept.size, totals]).toEqual([true, 0, { written: 2, known: 0, lost: 3 }]);
  });

  it('survive a database that is away, and are written with the next flush', async () => {
    const kept = ring(10);
    kept.note(served('a'));
    const clock = new FakeClock();
    let away = true;
    const failures: unknown[] = [];
    const writer = new EstimateWriter({
      ring: kept,
      repository: {
        insert: () => (away ? Promise.reject(new Error('away')) : Promise.resolve({ written: 1, known: 0, lost: 0 })),
      },
      clock,
      flushEveryMs: 1_000,
      batchMax: 2,
      onWritten: () => undefined,
      onFailed: (error) => failures.push(error),
    });
    writer.start();
    clock.advance(1_000);
    await writer.flush();
    expect([failures.length > 0, kept.size]).toEqual([true, 1]);
    away = false;
    await writer.stop();
    expect(kept.size).toBe(0);
  });
});
