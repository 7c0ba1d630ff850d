import { LaneQueue } from '../../../src/platform/queue/lane-queue';
import { lanePrefix } from '../../../src/platform/queue/lane-queues';
import { ProducerRedis } from '../../../src/platform/queue/redis-connections';
import { createApiDocument, ApiReference } from '../../../src/operator/docs/api-reference';
import { startOwnRedis, testRedis } from '../../support/services';
import { basic, type OperatorApp, openOperatorApp } from './operator-app';
import { until } from './until';

describe('the operators’ pages', () => {
  const closers: (() => Promise<void> | void)[] = [];

  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open(options: Parameters<typeof openOperatorApp>[0] = {}): Promise<OperatorApp> {
    const app = await openOperatorApp(options);
    closers.push(() => app.close());
    return app;
  }

  const withAccess = (authorization: string): RequestInit => ({ headers: { authorization } });

  it('are closed without credentials, and say how to sign in', async () => {
    const app = await open();
    for (const path of [
      '/queues',
      '/queues/api/queues',
      '/docs',
      '/docs-json',
      '/docs/swagger-ui.css',
      '/faults/cards',
    ]) {
      const answer = await fetch(`${app.url}${path}`);
      expect([path, answer.status]).toEqual([path, 401]);
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
      expect(await answer.json()).toMatchObject({ code: 'ERR_UNAUTHENTICATED' });
    }
  });

  it('open to the password and to a token with the scope, and to nobody else', async () => {
    const app = await open();
    const status = async (authorization: string): Promise<number> =>
      (await fetch(`${app.url}/docs-json`, withAccess(authorization))).status;
    const encoded = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
    expect(await status(basic)).toBe(200);
    expect(await status('Bearer operator-token')).toBe(200);
    expect(await status('Bearer other-token')).toBe(403);
    expect(await status('Bearer unknown')).toBe(401);
    expect(await status(encoded('operator:wrong'))).toBe(401);
    expect(await status(encoded('admin:correct horse'))).toBe(401);
    expect(await status(encoded('operator'))).toBe(401);
    expect(await status('Basic !!!')).toBe(401);
  });

  it('are closed to passwords where none is set', async () => {
    const app = await open({ password: null });
    expect((await fetch(`${app.url}/queues`, withAccess(basic))).status).toBe(401);
    expect((await fetch(`${app.url}/queues`, withAccess('Bearer operator-token'))).status).toBe(200);
  });

  it('do not act for a page of another site', async () => {
    const app = await open();
    const answer = await fetch(`${app.url}/faults/cards`, {
      method: 'PUT',
      body: '{}',
      headers: { authorization: basic, 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' },
    });
    expect(answer.status).toBe(403);
  });

  it('serve the API reference without a network', async () => {
    const app = await open();
    app.app.get(ApiReference).describe(() => createApiDocument(app.app, '4.0.0'));
    const page = await fetch(`${app.url}/docs`, withAccess(basic));
    const html = await page.text();
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(html).not.toMatch(/https?:\/\//);
    for (const [, asset] of html.matchAll(/(?:src|href)="(\/[^"]+)"/g)) {
      const answer = await fetch(`${app.url}${asset}`, withAccess(basic));
      expect([asset, answer.status]).toEqual([asset, 200]);
      await answer.arrayBuffer();
    }
    const document = (await (await fetch(`${app.url}/docs-json`, withAccess(basic))).json()) as {
      info: object;
      paths: object;
    };
    expect(document.info).toMatchObject({ title: 'payment-core', version: '4.0.0' });
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/v1/things', '/health/ready']));
  });

  it('show the queues and their jobs', async () => {
    const { url } = await testRedis();
    const redis = new ProducerRedis(url);
    const name = `board-${process.pid}`;
    const queue = new LaneQueue(name, { connection: redis, prefix: lanePrefix('cards') });
    closers.push(
      () => redis.disconnect(),
      () => queue.close(),
    );
    await until(() => redis.usable);
    const job = await queue.enqueue('look', { at: 'me', amount_minor: 1_250, card_token: 'card_demo_usd_0001' });
    const app = await open({ boardLanes: [{ lane: 'cards', redisUrl: url, queues: [name] }] });
    const api = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${app.url}/queues/api${path}`, { ...init, headers: { authorization: basic, ...init.headers } });
    await until(async () => (await api('/queues')).status === 200);
    const { queues } = (await (await api(`/queues?activeQueue=${name}&status=latest`)).json()) as { queues: unknown };
    expect(queues).toMatchObject([{ name, counts: { waiting: 1 } }]);
    const emptyJson = { 'content-type': 'application/json' };
    expect((await api(`/queues/${name}/pause`, { method: 'PUT', headers: emptyJson })).status).toBe(200);
    expect(await queue.isPaused()).toBe(true);
    expect((await api(`/queues/${name}/resume`, { method: 'PUT' })).status).toBe(200);
    const shown = await api(`/queues/${name}/${job.id}`);
    expect(shown.status).toBe(200);
    const { job: masked } = (await shown.json()) as { job: { data: unknown } };
    expect(masked.data).toEqual({ at: 'me', amount_minor: '****', card_token: '****' });
    const page = await fetch(`${app.url}/queues`, withAccess(basic));
    const html = await page.text();
    expect(page.status).toBe(200);
    for (const [, asset] of html.matchAll(/(?:src|href)="(static\/[^"]+)"/g)) {
      const answer = await fetch(`${app.url}/queues/${asset}`, withAccess(basic));
      expect([asset, answer.status]).toEqual([asset, 200]);
      await answer.arrayBuffer();
    }
  });

  it('answer quickly when Redis was never up, is killed or frozen, and show the other lanes’ queues', async () => {
    const own = await startOwnRedis({ durable: false });
    const { url } = await testRedis();
    const app = await open({
      boardLanes: [
        { lane: 'cards', redisUrl: url, queues: ['board-alive'] },
        { lane: 'quotes', redisUrl: own.url, queues: ['board-mortal'] },
      ],
    });
    const names = async (): Promise<string[]> => {
      const startedMs = performance.now();
      const answer = await fetch(`${app.url}/queues/api/queues`, withAccess(basic));
      expect(performance.now() - startedMs).toBeLessThan(1_000);
      const body = (await answer.json()) as { queues?: { name: string }[] };
      return answer.status === 200 ? (body.queues ?? []).map((queue) => queue.name).sort() : [`${answer.status}`];
    };
    await until(async () => (await names()).join() === 'board-alive,board-mortal');
    own.freeze();
    await until(async () => (await names()).join() === 'board-alive', 5_000);
    own.thaw();
    await until(async () => (await names()).join() === 'board-alive,board-mortal', 10_000);
    await own.kill();
    await until(async () => (await names()).join() === 'board-alive', 5_000);
    const nothing = await open({ boardLanes: [{ lane: 'quotes', redisUrl: own.url, queues: ['board-mortal'] }] });
    const answer = await fetch(`${nothing.url}/queues/api/queues`, withAccess(basic));
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: 'ERR_QUEUE_UNAVAILABLE' });
  });
});
