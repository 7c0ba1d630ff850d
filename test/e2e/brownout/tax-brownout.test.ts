import { setTimeout as sleep } from 'node:timers/promises';
import { laneTable } from '../../../config/lanes';
import type { Answer } from '../../support/http';
import { BrownoutServer, type Composition } from './brownout-server';

/** Longer than the provider's time limit, so that permits are given back and taken again while cards flow. */
const CARDS_FLOW_MS = 4_500;
const CARDS_PER_TICK = 10;
/** 150 a second. */
const QUOTES_PER_TICK = 15;
const EVALUATIONS_PER_TICK = 5;

interface Seen {
  readonly quiet: readonly number[];
  readonly cards: readonly Answer[];
  readonly quotes: readonly Answer[];
  readonly evaluations: readonly Answer[];
  /** Of the bulkhead that the cards went through. */
  readonly cardRefusals: number;
  readonly cardQueueWaitS: number;
  readonly cardInUseMax: number;
}

/** One scenario for both compositions: what they do with it is what differs. */
async function brownOut(composition: Composition): Promise<Seen> {
  const server = await BrownoutServer.start(composition);
  try {
    const quiet = await Promise.all([server.authorize(), server.evaluate(), server.quote()]);
    const { name } = await server.bulkhead('authorization');
    await server.simulator.control({ latency_ms: 10_000 });
    await server.setFaults('fraud', { hang: true });
    const quotes = server.flow(QUOTES_PER_TICK, () => server.quote());
    const evaluations = server.flow(EVALUATIONS_PER_TICK, server.evaluateUntilKnown);
    await server.full('tax');
    await server.full('fraud');

    const cards = server.flow(CARDS_PER_TICK, server.authorize);
    let cardInUseMax = 0;
    const endMs = performance.now() + CARDS_FLOW_MS;
    while (performance.now() < endMs) {
      cardInUseMax = Math.max(cardInUseMax, (await server.bulkhead('authorization')).in_use);
      await sleep(20);
    }
    const cardAnswers = await cards.stop();
    const cardRefusals = await server.metric('bulkhead_rejection_total', { bulkhead: name });
    const cardQueueWaitS = await server.metric('bulkhead_queue_wait_seconds_sum', { bulkhead: name });

    await server.simulator.reset();
    await server.setFaults('fraud', {});
    const [quoteAnswers, evaluationAnswers] = await Promise.all([quotes.stop(), evaluations.stop()]);
    await server.idle();
    return {
      quiet: quiet.map(({ status }) => status),
      cards: cardAnswers,
      quotes: quoteAnswers,
      evaluations: evaluationAnswers,
      cardRefusals,
      cardQueueWaitS,
      cardInUseMax,
    };
  } finally {
    await server.stop();
  }
}

function expectCardsUnharmed({ cards, cardRefusals, cardQueueWaitS, cardInUseMax }: Seen): void {
  expect(cards.length).toBeGreaterThanOrEqual(100);
  expect(counted(cards)).toEqual({ '201': cards.length });
  expect(cardRefusals).toBe(0);
  // Each had its permit in the moment in which it came: nobody's work stood before it.
  expect(cardQueueWaitS).toBe(0);
  expect(cardInUseMax).toBeLessThan(laneTable.authorization.bulkhead.permits);
}

/** By status, and by code where it is a problem. */
function counted(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status < 300 ? String(status) : `${status} ${String(body['code'])}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('test_tax_dependency_brownout_isolation [MC-FM-01]: the provider takes 10 s, tax and fraud are full', () => {
  it('all cards succeed, none waits for a permit of another lane, and all permits come home', async () => {
    const seen = await brownOut('own');
    expect(seen.quiet).toEqual([201, 200, 200]);
    expectCardsUnharmed(seen);
    const quotes = counted(seen.quotes);
    expect(quotes['503 ERR_TAX_BULKHEAD_SATURATED']).toBeGreaterThan(seen.quotes.length / 2);
    // Those that had a permit when the provider was slow.
    expect(quotes['503 ERR_TAX_PROVIDER_UNAVAILABLE']).toBeGreaterThanOrEqual(laneTable.tax.bulkhead.permits);
    expect(Object.keys(counted(seen.evaluations)).sort()).toEqual(['200', '202']);
  }, 60_000);

  it('the control: with one bulkhead and one pool of the same total size for all lanes, it fails', async () => {
    const seen = await brownOut('shared');
    // It serves as long as nothing is slow.
    expect(seen.quiet).toEqual([201, 200, 200]);
    expect(() => expectCardsUnharmed(seen)).toThrow(/ERR_CARD_AUTH_BULKHEAD_SATURATED/);
    expect(seen.cards.filter(({ status }) => status === 201).length).toBeLessThan(seen.cards.length / 2);
  }, 60_000);
});
