import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { portState } from '../../../scripts/setup/os/ports';
import { isAlive } from '../../../scripts/setup/os/processes';
import { plainEnvironment } from '../../../scripts/setup/os/run-command';
import { projectRoot } from '../../../scripts/setup/project';
import type { SupervisedProcess } from '../../../src/operator/health/supervision';
import { atEndOfFile } from '../../support/closers';
import { eventually, send } from '../../support/http';
import { workerFolder } from '../../support/run-folder';
import { OPERATOR_PASSWORD, ServerProcess } from '../../support/server-process';
import { identitiesOf } from './topology';

const LAUNCHER = join(projectRoot, 'dist', 'scripts', 'isolated.js');
const PROCESSES = 5;

/** Five free ports in a row: that is what one `PORT` stands for. */
async function freeRow(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const base = 15_000 + Math.floor(Math.random() * 15_000);
    const states = await Promise.all(
      Array.from({ length: PROCESSES }, (_, index) => portState('127.0.0.1', base + index)),
    );
    if (states.every((state) => state === 'free')) return base;
  }
  throw new Error('No five free ports in a row');
}

function startLauncher(folder: string, port: number): ServerProcess {
  const child = spawn(process.execPath, [LAUNCHER], {
    cwd: projectRoot,
    env: {
      ...plainEnvironment(),
      PAYMENT_DATA_DIR: folder,
      PORT: String(port),
      PAYMENT_FAULTS: '1',
      OPERATOR_PASSWORD,
      DRAIN_GRACE_MS: '1000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const launcher = new ServerProcess(child, `http://127.0.0.1:${port}`);
  atEndOfFile(async () => {
    if (launcher.running) await launcher.terminate();
  });
  return launcher;
}

/** Named as the folders whose services are ended after a run that was killed; open, since services are not root. */
function newFolder(): string {
  const folder = mkdtempSync(join(workerFolder(), 'own-isolated-'));
  chmodSync(folder, 0o755);
  return folder;
}

describe('npm run start:isolated', () => {
  let folder: string;
  let port: number;
  let launcher: ServerProcess;
  const said = (from: ServerProcess): string => from.lines.join('\n');

  beforeAll(async () => {
    folder = newFolder();
    port = await freeRow();
    launcher = startLauncher(folder, port);
    await eventually(
      'the banner',
      async () => {
        if (!launcher.running) throw new Error(said(launcher));
        return said(launcher).includes('curl -i');
      },
      100_000,
    );
  }, 120_000);

  test('brings its services and shows the address of each process', async () => {
    const roles = ['operator', 'authorization', 'fraud', 'tax', 'ledger'];
    for (const [index, role] of roles.entries()) {
      expect(said(launcher)).toMatch(new RegExp(`${role} +http://127\\.0\\.0\\.1:${port + index}`));
      expect((await send(`http://127.0.0.1:${port + index}/health`)).body).toMatchObject({ role });
    }
    const bearer = /Bearer [\w.-]+/.exec(said(launcher))?.[0] ?? '';
    const body = { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 1, currency: 'USD' };
    expect((await send(`http://127.0.0.1:${port + 1}/v1/authorizations`, { bearer, body })).status).toBe(201);
  });

  test('a second one on the same data, and one on a taken port of any of the five, say so and end', async () => {
    const second = startLauncher(folder, port);
    expect(await second.exit).toMatchObject({ code: 1 });
    expect(said(second)).toContain(`already runs on ${folder}`);

    // Its own ports begin one before: only its lanes' meet those that are taken.
    const beside = startLauncher(newFolder(), port - 1);
    expect(await beside.exit).toMatchObject({ code: 1 });
    expect(said(beside)).toMatch(/Port \d+ on 127\.0\.0\.1 is taken by process \d+/);
    expect(said(beside)).toMatch(/PORT_\w+=\d+ npm run start:isolated/);
  });

  test('work that outlasts the grace is cut off, the exit says so, and nothing is left', async () => {
    const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;
    const cards = `http://127.0.0.1:${port + 1}`;
    const headers = { Authorization: basic };
    await send(`${cards}/faults/authorization`, { method: 'PUT', body: { hang: true }, headers });
    const bearer = /Bearer [\w.-]+/.exec(said(launcher))?.[0] ?? '';
    const body = { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0002', amount_minor: 1, currency: 'USD' };
    const idempotencyKey = randomUUID();
    const hanging = send(`${cards}/v1/authorizations`, { bearer, body, idempotencyKey }).catch(() => 'cut off');
    await eventually('it hangs', async () =>
      (await send(`${cards}/metrics`)).text.includes('bulkhead_threads_active{bulkhead="bulkhead_card_auth"} 1'),
    );
    const { processes } = (await send(`${launcher.url}/health`)).body;
    const children = identitiesOf(processes as Record<string, SupervisedProcess>);
    expect(children).toHaveLength(PROCESSES);

    expect(await launcher.terminate()).toBe(1);
    expect(await hanging).toBe('cut off');
    expect(children.filter(isAlive)).toEqual([]);
    const state = JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')) as Record<string, unknown>;
    expect(state).toMatchObject({ application: null, url: null });
    expect(existsSync(join(folder, 'launcher.lock'))).toBe(false);
  });
});
