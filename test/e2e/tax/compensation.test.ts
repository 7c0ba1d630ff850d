import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Certificate, sealCertificate } from '../../../src/lanes/tax/compensation/certificate';
import { expectProblem, send } from '../../support/http';
import { copyOfProduct } from '../../support/product-copy';
import { OPERATOR_PASSWORD, startServer } from '../../support/server-process';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';
import { createTestIdentity, type TestIdentity } from '../../support/token';

const CODE = 'ERR_UNTESTED_COMPENSATION_REJECTED';

const order = {
  currency: 'USD',
  ship_to: { country: 'US', region: 'CA', postal_code: '94102' },
  lines: [{ id: 'shirt', amount_minor: 1_999 }],
  shipping_minor: 500,
};
const authorization = {
  merchant_id: 'mer_demo_0001',
  card_token: 'card_demo_usd_0001',
  amount_minor: 1_250,
  currency: 'USD',
};

interface HealthOfLane {
  dependencies: { name: string; status: string; detail?: string }[];
}

let database: TestDatabase;
let identity: TestIdentity;
beforeAll(async () => {
  database = await createTestDatabase();
  identity = await createTestIdentity();
});

const tablePath = (folder: string): string => join(folder, 'config', 'tax', 'compensation-table.json');
const certificatePath = (folder: string): string => join(folder, 'config', 'tax', 'certificate.json');

function flipOneByte(folder: string): void {
  const table = readFileSync(tablePath(folder));
  const at = table.indexOf('0.0725');
  table[at + 5] = '6'.charCodeAt(0);
  writeFileSync(tablePath(folder), table);
}

/** As if it had been certified a year ago, or for another table. */
function certifyAnew(folder: string, changes: Partial<Certificate>): void {
  const {
    id: _id,
    seal_sha256: _seal,
    ...statement
  } = JSON.parse(readFileSync(certificatePath(folder), 'utf8')) as Certificate;
  writeFileSync(certificatePath(folder), JSON.stringify(sealCertificate({ ...statement, ...changes })));
}

interface Said {
  readonly code: number;
  readonly text: string;
}

/** `npm run compensation:verify` of that installation. */
function verify(folder: string): Promise<Said> {
  return new Promise((resolve) => {
    const script = join(folder, 'dist', 'scripts', 'compensation', 'verify.js');
    execFile(process.execPath, [script], { cwd: folder, timeout: 30_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), text: `${stdout}${stderr}` });
    });
  });
}

function start(productFolder: string, role: string, readyPath: string | null) {
  return startServer({
    database,
    identity,
    productFolder,
    readyPath,
    // Nobody listens there: the provider is down.
    environment: { PAYMENT_ROLE: role, TAX_PROVIDER_URL: 'http://127.0.0.1:9' },
  });
}

async function compensationHealth(url: string) {
  const { body } = await send(`${url}/health`, { bearer: `Basic ${btoa(`operator:${OPERATOR_PASSWORD}`)}` });
  const { tax } = body['lanes'] as { tax: HealthOfLane };
  const alerts = body['alerts'] as { alert: string; detail: string }[];
  return {
    dependency: tax.dependencies.find(({ name }) => name === 'tax_compensation'),
    alerts: alerts.filter(({ alert }) => alert === 'ALERT_TAX_COMPENSATION'),
  };
}

describe('a table that nobody has certified [ADV-UC-01]', () => {
  it.each([
    ['one byte of it is flipped', flipOneByte, /is of another table/],
    ['its certificate is missing', (folder: string) => rmSync(certificatePath(folder)), /certificate\.json is missing/],
    [
      'its certificate is of another table',
      (folder: string) => certifyAnew(folder, { table_sha256: 'a'.repeat(64) }),
      /is of another table/,
    ],
    ['it is missing', (folder: string) => rmSync(tablePath(folder)), /compensation-table\.json is missing/],
  ])('stops a tax process from starting, and verification, where %s', async (_name, change, message) => {
    const folder = copyOfProduct();
    change(folder);
    const server = await start(folder, 'tax', null);
    expect((await server.exit).code).toBe(1);
    const verified = await verify(folder);
    expect(verified.code).toBe(1);
    for (const said of [server.lines.join('\n'), verified.text]) {
      expect(said).toContain(CODE);
      expect(said).toMatch(message);
      expect(said).toContain('npm run compensation:certify');
      // A person mends it; a stack would hide how.
      expect(said).not.toMatch(/^\s+at /m);
    }
  });

  it('makes the tax routes of `all` answer 503, while cards serve', async () => {
    const folder = copyOfProduct();
    flipOneByte(folder);
    const server = await start(folder, 'all', '/health/ready');
    const bearer = await identity.bearer();

    const refused = await send(`${server.url}/v1/tax/quotes`, { bearer, body: order });
    expectProblem(refused, 503, CODE);
    expect(refused.body).not.toHaveProperty('compensation');
    expectProblem(await send(`${server.url}/v1/tax/quotes/quo_00000000000000000000000000`, { bearer }), 503, CODE);
    expect((await send(`${server.url}/v1/authorizations`, { bearer, body: authorization })).status).toBe(201);

    const { dependency, alerts } = await compensationHealth(server.url);
    expect(dependency).toMatchObject({ status: 'degraded', detail: expect.stringContaining(CODE) });
    expect(alerts).toHaveLength(1);
    expect(await server.terminate()).toBe(0);
  });
});

describe('a certificate', () => {
  it('that has expired withdraws estimates and stops nothing', async () => {
    const folder = copyOfProduct();
    certifyAnew(folder, { expires_at: new Date(Date.now() - 1_000).toISOString() });
    const verified = await verify(folder);
    expect(verified).toEqual({ code: 0, text: expect.stringMatching(/warning: it expired at/) });

    const server = await start(folder, 'tax', '/health/ready');
    const bearer = await identity.bearer();
    const refused = await send(`${server.url}/v1/tax/quotes`, { bearer, body: order });
    expectProblem(refused, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
    expect(refused.body).not.toHaveProperty('compensation');
    const { dependency, alerts } = await compensationHealth(server.url);
    expect(dependency).toMatchObject({ status: 'degraded', detail: expect.stringContaining('expired at') });
    expect(alerts).toHaveLength(1);
    expect(await server.terminate()).toBe(0);
  });

  it('that ends within fourteen days alerts, and estimates are still made', async () => {
    const folder = copyOfProduct();
    certifyAnew(folder, { expires_at: new Date(Date.now() + 13 * 24 * 60 * 60 * 1_000).toISOString() });
    expect(await verify(folder)).toEqual({ code: 0, text: expect.stringMatching(/warning: it expires at/) });

    const server = await start(folder, 'tax', '/health/ready');
    const bearer = await identity.bearer();
    const refused = await send(`${server.url}/v1/tax/quotes`, { bearer, body: order });
    expectProblem(refused, 503, 'ERR_TAX_PROVIDER_UNAVAILABLE');
    expect(refused.body['compensation']).toMatchObject({
      source: 'CACHED_COMPENSATION',
      // 19.99 and 5.00 at 8.625 %: 172.4 and 43.1 cents.
      tax_minor: 172 + 43,
      rate: '0.08625',
      jurisdiction: 'US-CA',
      rate_scope: 'postal_code',
    });
    const { dependency, alerts } = await compensationHealth(server.url);
    expect(dependency).toMatchObject({ status: 'up' });
    expect(alerts).toMatchObject([{ detail: expect.stringContaining('certify again before then') }]);
    expect(await server.terminate()).toBe(0);
  });
});
