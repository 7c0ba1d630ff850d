import { setTimeout as delay } from 'node:timers/promises';
import { type OperatorApp, openOperatorApp, TestLane } from './operator-app';
import { until } from './until';

interface Overview {
  readonly lanes: Readonly<Record<string, { readonly bulkheads: readonly unknown[] }>>;
}

describe('the health of a process', () => {
  const opened: OperatorApp[] = [];

  afterEach(async () => {
    for (const app of opened.splice(0)) await app.close();
  });

  async function open(options: Parameters<typeof openOperatorApp>[0] = {}): Promise<OperatorApp> {
    const app = await openOperatorApp(options);
    opened.push(app);
    return app;
  }

  async function get(app: OperatorApp, path: string) {
    const startedMs = performance.now();
    const answer = await fetch(`${app.url}${path}`);
    return {
      status: answer.status,
      type: answer.headers.get('content-type'),
      body: (await answer.json()) as Overview,
      ms: performance.now() - startedMs,
    };
  }

  it('is live and ready, and needs no credentials', async () => {
    const app = await open();
    expect(await get(app, '/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await get(app, '/health/ready')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(await get(app, '/health/ready/cards')).toMatchObject({ status: 200 });
    expect(await get(app, '/health/ready/nothing')).toMatchObject({ status: 404, body: { code: 'ERR_NOT_FOUND' } });
  });

  it('is unready while its most important lane’s database does not answer, as a problem document', async () => {
    const cards = new TestLane('cards');
    cards.databaseHealth = async () => ({ name: 'cards_ds', status: 'down', detail: 'ECONNREFUSED' });
    const app = await open({ lanes: [cards, new TestLane('quotes')] });
    const ready = await get(app, '/health/ready');
    expect(ready).toMatchObject({
      status: 503,
      type: 'application/problem+json',
      body: { code: 'ERR_NOT_READY', checks: { cards_ds: { status: 'down', detail: 'ECONNREFUSED' } } },
    });
    expect(await get(app, '/health/ready/quotes')).toMatchObject({ status: 200 });
    expect((await get(app, '/health')).body).toMatchObject({
      status: 'unready',
      ready: false,
      lanes: { cards: { ready: false, status: 'unready' }, quotes: { ready: true, status: 'ok' } },
    });
  });

  it('is ready whatever happens to a less important lane', async () => {
    const quotes = new TestLane('quotes');
    quotes.databaseHealth = async () => ({ name: 'quotes_ds', status: 'down' });
    const app = await open({ lanes: [new TestLane('cards'), quotes] });
    expect(await get(app, '/health/ready')).toMatchObject({ status: 200 });
    expect(await get(app, '/health/ready/quotes')).toMatchObject({ status: 503 });
  });

  it('is degraded, not unready, while Redis is away', async () => {
    const cards = new TestLane('cards');
    cards.dependencyHealth = async () => [{ name: 'redis', status: 'down', detail: 'gone' }];
    const app = await open({ lanes: [cards] });
    expect(await get(app, '/health/ready')).toMatchObject({
      status: 200,
      body: { status: 'degraded', details: { redis: { status: 'degraded', detail: 'gone' } } },
    });
    expect((await get(app, '/health')).body).toMatchObject({
      status: 'degraded',
      lanes: { cards: { status: 'degraded' } },
    });
  });

  it('stays ready while it is saturated', async () => {
    const cards = new TestLane('cards');
    cards.state = 'SATURATED';
    const app = await open({ lanes: [cards] });
    expect(await get(app, '/health/ready')).toMatchObject({ status: 200 });
    expect((await get(app, '/health')).body.lanes.cards?.bulkheads[0]).toMatchObject({
      state: 'SATURATED',
      in_use: 75,
    });
  });

  it('is unready from the start of draining on, and still live', async () => {
    const app = await open();
    app.draining.begin();
    expect(await get(app, '/health/ready')).toMatchObject({ status: 503, body: { code: 'ERR_NOT_READY' } });
    expect(await get(app, '/health/ready/cards')).toMatchObject({ status: 503 });
    expect(await get(app, '/health/live')).toMatchObject({ status: 200 });
    expect((await get(app, '/health')).body).toMatchObject({ status: 'draining' });
  });

  it('answers before a hanging probe does, asks once at a time, and says so when it knows', async () => {
    const cards = new TestLane('cards');
    let probes = 0;
    const app = await open({ lanes: [cards] });
    expect(await get(app, '/health/ready')).toMatchObject({ status: 200 });
    cards.databaseHealth = async () => {
      probes += 1;
      await delay(500);
      return { name: 'cards_ds', status: 'down', detail: 'no answer within 500 ms' };
    };
    await delay(1_050);
    const answers = await Promise.all(Array.from({ length: 5 }, () => get(app, '/health')));
    // The answer takes 80 ms; the rest is this test's own client on a busy machine. The probe takes 500 ms.
    for (const { ms } of answers) expect(ms).toBeLessThan(400);
    expect(probes).toBe(1);
    await until(async () => (await get(app, '/health/ready')).status === 503, 2_000);
  });

  it('shows version, settings, alerts and pools, and no secret', async () => {
    const app = await open();
    app.alerts.raise('ALERT_BULKHEAD_ZOMBIE', 'work has not ended', { key: 'bulkhead_cards' });
    const { body } = await get(app, '/health');
    expect(body).toMatchObject({
      status: 'ok',
      version: '4.0.0',
      role: 'all',
      settings: { operatorPassword: '****' },
      alerts: [{ alert: 'ALERT_BULKHEAD_ZOMBIE', key: 'bulkhead_cards', count: 1, cleared_at: null }],
      lanes: { cards: { pool: { datasource: 'cards_ds', open: 40, busy: 2 }, bulkheads: [{ permits: 75 }] } },
    });
    expect(JSON.stringify(body)).not.toContain('correct horse');
  });

  it('shows the lanes of other processes, and which of them cannot be reached', async () => {
    const lane = await open();
    const operator = await open({
      lanes: [],
      primaryLane: null,
      peers: [
        { lane: 'cards', url: lane.url },
        { lane: 'quotes', url: 'http://127.0.0.1:1' },
      ],
    });
    expect(await get(operator, '/health/ready')).toMatchObject({ status: 200 });
    expect((await get(operator, '/health')).body).toMatchObject({
      ready: true,
      status: 'degraded',
      lanes: { cards: { status: 'ok', process: { version: '4.0.0' } }, quotes: { status: 'unreachable' } },
    });
  });

  it('serves metrics of bulkheads, pools, alerts and the process', async () => {
    const app = await open();
    app.metrics.bulkhead('bulkhead_cards').rejected('full');
    app.alerts.raise('ALERT_OUTBOX_LAG', 'late');
    const answer = await fetch(`${app.url}/metrics`);
    const text = await answer.text();
    expect(answer.headers.get('content-type')).toContain('text/plain');
    expect(text).toContain('bulkhead_threads_active{bulkhead="bulkhead_cards"} 3');
    expect(text).toContain('bulkhead_threads_max{bulkhead="bulkhead_cards"} 75');
    expect(text).toContain('bulkhead_rejection_total{bulkhead="bulkhead_cards",reason="full"} 1');
    expect(text).toContain('bulkhead_rejection_total{bulkhead="bulkhead_cards",reason="retry_storm"} 0');
    expect(text).toContain('bulkhead_state{bulkhead="bulkhead_cards",state="NORMAL"} 1');
    expect(text).toContain('datasource_connections{datasource="cards_ds",kind="idle"} 38');
    expect(text).toContain('alerts_total{alert="ALERT_OUTBOX_LAG"} 1');
    expect(text).toContain('nodejs_eventloop_lag_seconds');
  });
});
