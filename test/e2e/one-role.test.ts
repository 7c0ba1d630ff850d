import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { send } from '../support/http';
import { startServer } from '../support/server-process';
import { createTestDatabase } from '../support/test-database';
import { createTestIdentity } from '../support/token';

const authorization = {
  merchant_id: 'mer_demo_0001',
  card_token: 'card_demo_usd_0001',
  amount_minor: 1_250,
  currency: 'USD',
};

describe('a process of the authorization role', () => {
  it('opens nothing and loads nothing of another lane [INV-BH-01, INV-BH-03]', async () => {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const moduleList = join(tmpdir(), `modules-${randomUUID()}.json`);
    const server = await startServer({
      database,
      identity,
      nodeArguments: ['--require', join(__dirname, '..', 'support', 'list-modules.cjs')],
      environment: { PAYMENT_ROLE: 'authorization', MODULE_LIST_FILE: moduleList },
    });
    const bearer = await identity.bearer();
    expect((await send(`${server.url}/v1/authorizations`, { bearer, body: authorization })).status).toBe(201);

    const admin = new Client({ connectionString: database.adminUrl });
    await admin.connect();
    const { rows } = await admin.query<{ usename: string; application_name: string; connections: number }>(
      `select usename, application_name, count(*)::int as connections from pg_stat_activity
        where datname = $1 and pid <> pg_backend_pid() group by 1, 2`,
      [database.name],
    );
    await admin.end();
    expect(rows).toEqual([{ usename: 'card_auth_app', application_name: 'card_auth_ds', connections: 40 }]);

    for (const path of ['/v1/fraud/evaluations', '/v1/tax/quotes', '/v1/ledger/batches']) {
      expect((await send(`${server.url}${path}`, { bearer, body: {} })).status).toBe(404);
    }
    expect(await server.terminate()).toBe(0);

    expect(existsSync(moduleList)).toBe(true);
    const modules = JSON.parse(readFileSync(moduleList, 'utf8')) as string[];
    rmSync(moduleList);
    const ofLanes = modules.filter((path) => /\/dist\/(src\/lanes|migrations)\/[^/]+\//.test(path));
    expect(ofLanes.some((path) => path.includes('/lanes/authorization/'))).toBe(true);
    expect(ofLanes.filter((path) => /\/(fraud|tax|ledger)\//.test(path))).toEqual([]);
  });

  it('does not start with settings that cannot be right, and says all of them', async () => {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const server = await startServer({
      database,
      identity,
      readyPath: null,
      environment: { PAYMENT_ROLE: 'authorization', LANE_AUTHORIZATION_PERMITS: '-1', DRAIN_GRACE_MS: 'soon' },
    });
    expect((await server.exit).code).toBe(1);
    const said = server.lines.join('\n');
    expect(said).toContain('LANE_AUTHORIZATION_PERMITS = -1');
    expect(said).toContain('DRAIN_GRACE_MS = soon');
  });

  it('does not start as another role than its own in the database', async () => {
    const database = await createTestDatabase();
    const identity = await createTestIdentity();
    const server = await startServer({
      database,
      identity,
      readyPath: null,
      environment: { PAYMENT_ROLE: 'authorization', DATABASE_URL_AUTHORIZATION: database.adminUrl },
    });
    expect((await server.exit).code).toBe(1);
    expect(server.lines.join('\n')).toContain('card_auth_app');
  });
});
