import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { projectRoot } from '../../../scripts/setup/project';
import { TaxSimulator } from '../../fixtures/tax-simulator';
import { atEndOfFile } from '../../support/closers';
import { send } from '../../support/http';
import { startServer } from '../../support/server-process';
import { startOwnCluster, startOwnRedis } from '../../support/services';
import { createTestDatabase } from '../../support/test-database';
import { createTestIdentity } from '../../support/token';

const RUN_MS_MAX = 240_000;
const DRILL = 'scripts/drills/run_bulkhead_recovery_test.sh';

interface Figure {
  value: number | null;
  limit: number | null;
  holds: boolean;
  gates: boolean;
}

interface Result {
  verdict: string;
  figures: Record<string, Figure>;
}

async function drill(options: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn('sh', [DRILL, ...options], { cwd: projectRoot, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, output: output + errors };
}

/** All lanes in one process, on a database that loses nothing: the drill refuses any other. */
async function startRunningSystem() {
  const database = await createTestDatabase(await startOwnCluster({ durable: true }));
  const identity = await createTestIdentity();
  const simulator = await TaxSimulator.start();
  const REDIS_URL = (await startOwnRedis({ durable: false })).url;
  const server = await startServer({
    database,
    identity,
    environment: { REDIS_URL, TAX_PROVIDER_URL: simulator.url },
  });
  return { server, simulator, database, token: await identity.token() };
}

/** The drill judges it where it has the machine to itself; beside other tests it is those tests' time as well. */
const TIMED = 'shed_server_p99_ms';

function brokenIn(figures: Result['figures']): string[] {
  return Object.entries(figures)
    .filter(
      ([name, { gates, holds, value, limit }]) =>
        gates && name !== TIMED && !(holds && value !== null && limit !== null),
    )
    .map(([name]) => name);
}

/** The short drill as such, with that time, is a step of its own in `.ci/run`. */
describe('run_bulkhead_recovery_test.sh [MC-RT-01]', () => {
  it(
    'drills a system that runs already, by its URLs',
    async () => {
      const { server, simulator, database, token } = await startRunningSystem();
      const folder = mkdtempSync(join(tmpdir(), 'payment-core-drill-test-'));
      atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
      const tokenFile = join(folder, 'token');
      writeFileSync(tokenFile, token);
      const place = ['--url', server.url, '--provider-url', simulator.url, '--token-file', tokenFile];
      const length = ['--short', '--pairs', '0', '--main', '8', '--out', folder];
      const { code, output } = await drill([...length, ...place, '--admin-database-url', database.adminUrl]);
      const result = readFileSync(join(folder, 'latest.json'), 'utf8');
      const { verdict, figures } = JSON.parse(result) as Result;
      expect({ broken: brokenIn(figures), output: brokenIn(figures).length === 0 ? '' : output }).toEqual({
        broken: [],
        output: '',
      });
      expect(JSON.parse(result)).toMatchObject({ topology: 'running' });
      // Its word follows from all of its figures, that time included.
      const passes = Object.values(figures).every(({ gates, holds }) => holds || !gates);
      expect({ verdict, code }).toEqual(passes ? { verdict: 'PASSED', code: 0 } : { verdict: 'FAILED', code: 1 });
      for (const name of Object.keys(figures)) expect(output).toContain(name);
      const page = readFileSync(join(folder, 'latest.html'), 'utf8');
      expect(page).toContain('provider well again');
      expect(page).toContain('tax lane recovered after');
      // Neither the token nor the database's password is in what is kept.
      expect(result).not.toContain(token);
      expect(result).not.toContain(new URL(database.adminUrl).password);
      // It goes on, and its provider is well.
      expect((await send(`${server.url}/health/ready`)).status).toBe(200);
      expect(await simulator.state()).toMatchObject({ latency_ms: 10, mode: 'ok' });
    },
    RUN_MS_MAX,
  );

  it('says what is wrong with its options, and that nothing was done', async () => {
    expect(await drill(['--topology', 'both'])).toMatchObject({ code: 1, output: expect.stringContaining('isolated') });
    const running = await drill(['--url', 'http://127.0.0.1:1', '--admin-database-url', 'postgres://x@127.0.0.1:1/x']);
    expect(running).toMatchObject({ code: 1, output: expect.stringContaining('--provider-url, --token-file') });
  });
});
