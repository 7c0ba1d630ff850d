import { execFile, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { listenerOf, portState } from '../../../scripts/setup/os/ports';
import { plainEnvironment } from '../../../scripts/setup/os/run-command';
import { projectRoot } from '../../../scripts/setup/project';
import { order } from '../../fixtures/tax-server';
import { atEndOfFile } from '../../support/closers';
import { eventually, send } from '../../support/http';
import { workerFolder } from '../../support/run-folder';
import { ServerProcess } from '../../support/server-process';

const run = promisify(execFile);
const READY_MS_MAX = 110_000;
/** Contract 15: 3010 beside 3000, and in the isolated topology tax on 3003. */
const SIMULATOR_AFTER = 10;
const TAX_AFTER = 3;

/** A port whose row of eleven is free: that is what one `PORT` stands for. */
async function freeRow(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const base = 15_000 + Math.floor(Math.random() * 15_000);
    const row = Array.from({ length: SIMULATOR_AFTER + 1 }, (_, index) => portState('127.0.0.1', base + index));
    if ((await Promise.all(row)).every((state) => state === 'free')) return base;
  }
  throw new Error('No free row of ports');
}

describe.each([
  ['npm start', 'start.js', 0],
  ['npm run start:isolated', 'isolated.js', TAX_AFTER],
])('%s', (_name, script, taxAfter) => {
  let launcher: ServerProcess;
  let folder: string;
  let base: number;
  const environment = () => ({ ...plainEnvironment(), PAYMENT_DATA_DIR: folder, PORT: String(base) });
  const simulator = (): string => `http://127.0.0.1:${base + SIMULATOR_AFTER}`;
  const quote = async (): Promise<number> => {
    const token = join(projectRoot, 'dist', 'scripts', 'token.js');
    const { stdout } = await run(process.execPath, [token, '--subject', 'checkout', '--scope', 'tax'], {
      env: environment(),
    });
    const url = `http://127.0.0.1:${base + taxAfter}/v1/tax/quotes`;
    return (await send(url, { bearer: `Bearer ${stdout.trim()}`, body: order })).status;
  };

  beforeAll(async () => {
    base = await freeRow();
    folder = mkdtempSync(join(workerFolder(), 'own-tax-'));
    chmodSync(folder, 0o755);
    const child = spawn(process.execPath, [join(projectRoot, 'dist', 'scripts', script)], {
      cwd: projectRoot,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    launcher = new ServerProcess(child, `http://127.0.0.1:${base}`);
    atEndOfFile(async () => {
      if (launcher.running) await launcher.terminate();
    });
    await eventually('the banner', async () => !launcher.running || said().includes('curl -i'), READY_MS_MAX);
  }, READY_MS_MAX);

  const said = (): string => launcher.lines.join('\n');

  it('serves quotes of the simulator, and says that it is one', async () => {
    expect(said()).toContain(`the provider is a simulator, development equipment: ${simulator()}/control`);
    expect(await quote()).toBe(200);
    expect((await send(`${simulator()}/control`)).body).toMatchObject({ mode: 'ok', calls: 1, in_flight: 0 });
  });

  it('starts a simulator that was killed again', async () => {
    const { pid } = listenerOf(base + SIMULATOR_AFTER) ?? { pid: 0 };
    process.kill(pid, 'SIGKILL');
    await eventually('another one', async () => {
      const found = listenerOf(base + SIMULATOR_AFTER);
      return found !== null && found.pid !== pid;
    });
    await eventually('quotes', async () => (await quote()) === 200);
  });

  it('takes it along when it stops', async () => {
    expect(await launcher.terminate()).toBe(0);
    expect(await portState('127.0.0.1', base + SIMULATOR_AFTER)).toBe('free');
  }, 60_000);
});
