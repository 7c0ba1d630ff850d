import { FakeClock } from '../../../../test/support/fake-clock';
import type { Ingest, LedgerItem, OutcomeListener } from '../ledger';
import { TimedIngest } from './timed-ingest';

it('tells once per request, at the last of its outcomes; of a refused one nothing', () => {
  const clock = new FakeClock();
  const written: number[] = [];
  const listeners: OutcomeListener[] = [];
  let verdict: ReturnType<Ingest['admit']> = 'admitted';
  const buffer: Ingest = {
    admit: (_items, _caller, onOutcome) => {
      listeners.push(onOutcome);
      return verdict;
    },
  };
  const told: number[] = [];
  const ingest = new TimedIngest(buffer, clock, (elapsedMs) => written.push(elapsedMs));
  const items = [{}, {}] as LedgerItem[];
  const committed = { status: 'COMMITTED', entryId: 'ent_1', duplicate: false } as const;
  ingest.admit(items, 'shop', (index) => told.push(index));
  clock.advance(20);
  listeners[0]?.(1, committed);
  clock.advance(5);
  expect(written).toEqual([]);
  listeners[0]?.(0, committed);
  expect([written, told]).toEqual([[25], [1, 0]]);
  verdict = 'no_room';
  expect(ingest.admit(items, 'shop', () => undefined)).toBe('no_room');
  expect(written).toEqual([25]);
});
