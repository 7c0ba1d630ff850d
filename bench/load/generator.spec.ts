import { runLoad } from './generator';
import { runClosedLoop } from './testing/closed-loop';
import { aPlan, aTarget } from './testing/plan-builder';
import {
  approvedBody,
  startStandIn,
  type StandIn,
  type StandInAction,
  type StandInRequest,
} from './testing/stand-in-server';

let server: StandIn;
afterEach(() => server.close());

async function serve(act: (request: StandInRequest) => StandInAction): Promise<string> {
  server = await startStandIn(act);
  return server.url;
}

const created = ({ index }: StandInRequest): StandInAction => ({ status: 201, body: approvedBody(`aut_${index}`) });
const refusal = (code: string, afterSeconds: number, jitterSeconds = 0): StandInAction => ({
  status: 429,
  headers: { 'retry-after': String(afterSeconds), 'content-type': 'application/problem+json' },
  body: JSON.stringify({
    code,
    retry: { after_seconds: afterSeconds, max_attempts: 3, jitter_seconds: jitterSeconds },
  }),
});

/** Answers of every kind, told apart by the number in the key: the order of arrival may differ by a place. */
function mixed({ headers }: StandInRequest): StandInAction {
  const index = Number(String(headers['idempotency-key']).split('-').at(-1));
  switch (index % 7) {
    case 0:
      return { status: 503, body: '{"code":"ERR_DRAINING"}', headers: { connection: 'close' } };
    case 1:
      return refusal('ERR_CARD_AUTH_BULKHEAD_SATURATED', 5);
    case 2:
      return 'reset';
    case 3:
      return { status: 201, body: approvedBody('aut_1'), chunked: true };
    case 4:
      return { status: 400, body: 'no problem document' };
    default:
      return { status: 201, body: approvedBody('aut_2'), latencyMs: index % 5 };
  }
}

describe('runLoad', () => {
  it('accounts for every request exactly, warm-up left out', async () => {
    const url = await serve(mixed);
    const seen = { answers: 0, measured: 0, unknown: 0, bodies: 0 };
    const target = aTarget(url, { stages: [{ durationS: 0.7, rate: 1_000 }], collectBodies: true });
    const result = await runLoad(aPlan([target], { warmupS: 0.1 }), {
      hooks: {
        onAnswer: ({ measured, body, status }) => {
          seen.answers += 1;
          if (measured) seen.measured += 1;
          if (status === 201 && body?.includes('"aut_') === true) seen.bodies += 1;
        },
        onUnknown: () => (seen.unknown += 1),
      },
    });
    const [figures] = result.targets;
    expect(server.received()).toBe(800);
    expect(figures).toMatchObject({ operations: 700, sent: 700, retries: 0, overflow: 0, notSent: 0, unknown: 100 });
    expect(figures?.statuses).toEqual({ 201: 300, 400: 100, 429: 100, 503: 100 });
    expect(figures?.codes).toEqual({ NO_PROBLEM: 100, ERR_CARD_AUTH_BULKHEAD_SATURATED: 100, ERR_DRAINING: 100 });
    expect(figures).toMatchObject({
      answered: 600,
      firstTrySucceeded: 300,
      failed: 400,
      unknownReasons: { connection_lost: 100 },
    });
    expect(figures?.latencyMs?.count).toBe(600);
    expect(figures?.series.reduce((sum, row) => sum + row.answered + row.unknown, 0)).toBe(700);
    expect(seen).toMatchObject({ measured: 600 });
    expect(seen.answers + seen.unknown).toBe(800);
    expect(seen.bodies).toBeGreaterThanOrEqual(300);
    expect(result).toMatchObject({ void: false, voidReason: null });
  });

  it('sends each target as many as its rate is due, side by side', async () => {
    const arrivals = new Map<string, number>();
    const url = await serve((request) => {
      arrivals.set(request.path, (arrivals.get(request.path) ?? 0) + 1);
      return created(request);
    });
    const rates = { '/v1/authorizations': 400, '/v1/tax/quotes': 50 };
    const targets = Object.entries(rates).map(([path, rate], index) =>
      aTarget(url, { name: `target-${index}`, url: `${url}${path}`, stages: [{ durationS: 1, rate }] }),
    );
    const result = await runLoad(aPlan(targets));
    expect(result.targets.map((target) => target.rate)).toEqual([400, 50]);
    expect(Object.fromEntries(arrivals)).toEqual(rates);
  });

  it('sends a key of its own, the attempt and the given headers with every request', async () => {
    const keys = new Set<unknown>();
    const url = await serve((request) => {
      keys.add(request.headers['idempotency-key']);
      expect(request).toMatchObject({ method: 'POST', headers: { 'retry-attempt': '0', authorization: 'Bearer x' } });
      expect(JSON.parse(request.body)).toMatchObject({ currency: 'USD' });
      return created(request);
    });
    await runLoad(aPlan([aTarget(url, { headers: { Authorization: 'Bearer x' } })]));
    expect(keys.size).toBe(100);
  });

  it('shows a stall of the server to all who were due in it, which a closed loop at the same rate misses', async () => {
    const url = await serve(created);
    const stallOnce = (): NodeJS.Timeout => setTimeout(() => setTimeout(server.stall(), 1_000), 800);
    stallOnce();
    const closed = await runClosedLoop(url, { workers: 2, rate: 250, durationS: 3 });
    stallOnce();
    const open = await runLoad(aPlan([aTarget(url, { stages: [{ durationS: 3, rate: 250 }] })]));
    // A third of the requests were due within the stalled second; the closed loop's two workers each met it once.
    const openP90 = open.targets[0]?.latencyMs?.p90 ?? 0;
    expect(openP90).toBeGreaterThan(500);
    expect(closed?.max).toBeGreaterThan(900);
    expect(closed?.p90).toBeLessThan(openP90 / 2);
  }, 15_000);

  it('finds its own lag and declares the run void', async () => {
    const url = await serve(created);
    let answers = 0;
    const block = (): void => {
      answers += 1;
      if (answers !== 20) return;
      const untilMs = performance.now() + 150;
      while (performance.now() < untilMs);
    };
    const plan = aPlan([aTarget(url)], { lagP99MsMax: 100 });
    const result = await runLoad(plan, { hooks: { onAnswer: block } });
    expect(result.generator.lagMs?.p99).toBeGreaterThan(100);
    expect(result.generator.eventLoopDelayMs.max).toBeGreaterThan(100);
    expect(result.void).toBe(true);
    expect(result.voidReason).toContain("generator's own lag");
  });

  it('counts what it may not send as overflow and declares the run void', async () => {
    const url = await serve(() => ({ status: 201, latencyMs: 300 }));
    const target = aTarget(url, { inFlightMax: 5, stages: [{ durationS: 0.2, rate: 100 }] });
    const result = await runLoad(aPlan([target]));
    expect(result.targets[0]).toMatchObject({ operations: 20, sent: 5, answered: 5, overflow: 15, failed: 15 });
    expect(result.void).toBe(true);
    expect(result.voidReason).toContain('too many had no answer');
  });

  it('counts requests whose server is gone as not sent', async () => {
    const url = await serve(() => {
      setImmediate(() => void server.close());
      return { status: 201, headers: { connection: 'close' } };
    });
    const result = await runLoad(aPlan([aTarget(url, { connections: 1, stages: [{ durationS: 0.5, rate: 20 }] })]));
    const [figures] = result.targets;
    expect(figures?.notSent).toBeGreaterThan(0);
    expect((figures?.sent ?? 0) + (figures?.notSent ?? 0)).toBe(10);
  });

  it('ends early on request, void, with everything accounted for', async () => {
    const url = await serve(created);
    const started = performance.now();
    const target = aTarget(url, { stages: [{ durationS: 60, rate: 100 }] });
    const result = await runLoad(aPlan([target]), { signal: AbortSignal.timeout(200) });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(result.void).toBe(true);
    expect(result.targets[0]?.answered).toBe(result.targets[0]?.operations);
  });
});

describe('retries', () => {
  it('sends a refused request again under its key, no sooner than told, and counts both tries', async () => {
    const attempts = new Map<string, { attempt: string; atMs: number }[]>();
    const url = await serve((request) => {
      const key = String(request.headers['idempotency-key']);
      const earlier = attempts.get(key) ?? [];
      attempts.set(key, [...earlier, { attempt: String(request.headers['retry-attempt']), atMs: performance.now() }]);
      if (key.endsWith('-3')) return refusal('ERR_RETRY_STORM_BLOCKED', 0);
      return earlier.length === 0 && key.endsWith('-1') ? refusal('ERR_CARD_BUSY', 1, 0.5) : created(request);
    });
    const target = aTarget(url, { retries: true, stages: [{ durationS: 0.05, rate: 100 }] });
    const result = await runLoad(aPlan([target]), { random: () => 0.5 });
    expect(result.targets[0]).toMatchObject({
      operations: 5,
      retries: 4,
      sent: 9,
      firstTrySucceeded: 3,
      afterRetrySucceeded: 1,
      failed: 1,
      firstTryShare: 0.6,
      succeededShare: 0.8,
    });
    const again = attempts.get('test-1') ?? [];
    expect(again.map(({ attempt }) => attempt)).toEqual(['0', '1']);
    expect((again[1]?.atMs ?? 0) - (again[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(1_249);
    expect(attempts.get('test-3')?.map(({ attempt }) => attempt)).toEqual(['0', '1', '2', '3']);
  });

  it('does not repeat what no retry mends, nor a request of unknown outcome', async () => {
    const url = await serve(({ index }) =>
      index % 2 === 0 ? 'reset' : { status: 422, headers: { 'retry-after': '0' } },
    );
    const result = await runLoad(aPlan([aTarget(url, { retries: true })]));
    expect(result.targets[0]).toMatchObject({ retries: 0, unknown: 50, statuses: { 422: 50 } });
  });
});
