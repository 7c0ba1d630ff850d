import { basic, type OperatorApp, openOperatorApp } from './operator-app';
import { until } from './until';

describe('PUT /faults/:lane', () => {
  let app: OperatorApp;

  beforeAll(async () => {
    app = await openOperatorApp();
  });

  afterAll(() => app.close());

  async function put(body: unknown, lane = 'cards', on = app) {
    const answer = await fetch(`${on.url}/faults/${lane}`, {
      method: 'PUT',
      headers: { authorization: basic, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }

  it('sets faults, shows them, and returns what is left out to its default', async () => {
    expect(await put({ latency_ms: 50, database: 'stalled' })).toMatchObject({
      status: 200,
      body: { latency_ms: 50, database: 'stalled', hang: false },
    });
    expect(app.faults.of('cards').current()).toEqual({ latencyMs: 50, hang: false, database: 'stalled' });
    const shown = await fetch(`${app.url}/faults/cards`, { headers: { authorization: basic } });
    expect(await shown.json()).toMatchObject({ latency_ms: 50, database: 'stalled' });
    await put({ hang: true });
    expect(app.faults.of('cards').current()).toEqual({ latencyMs: 0, hang: true, database: 'ok' });
    await put({});
    expect(app.faults.of('cards').beforeWork()).toBeNull();
  });

  it('names all faults of a wrong body by pointer, and changes nothing', async () => {
    const answer = await put({ latency_ms: -1, hang: 'yes', database: 'slow', surprise: 1 });
    expect(answer).toMatchObject({ status: 400, body: { code: 'ERR_VALIDATION' } });
    const pointers = (answer.body.errors as { pointer: string }[]).map(({ pointer }) => pointer).sort();
    expect(pointers).toEqual(['/database', '/hang', '/latency_ms', '/surprise']);
    expect(app.faults.of('cards').beforeWork()).toBeNull();
  });

  it('knows no lane that is not here', async () => {
    expect(await put({}, 'nothing')).toMatchObject({ status: 404, body: { code: 'ERR_NOT_FOUND' } });
  });

  it('is not there unless the process was started for it', async () => {
    const closed = await openOperatorApp({ faultsEnabled: false });
    expect(await put({}, 'cards', closed)).toMatchObject({ status: 404 });
    await closed.close();
  });

  it('answers first and then blocks the event loop', async () => {
    const startedMs = performance.now();
    expect(await put({ block_event_loop_ms: 300 })).toMatchObject({ status: 200 });
    await until(() => performance.now() - startedMs > 250);
    expect((await fetch(`${app.url}/health/live`)).status).toBe(200);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(300);
  });
});
