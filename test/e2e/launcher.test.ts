import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../../scripts/setup/os/ports';
import { plainEnvironment } from '../../scripts/setup/os/run-command';
import { projectRoot } from '../../scripts/setup/project';
import { eventually, send } from '../support/http';

const shell = promisify(execFile);
const START = join(projectRoot, 'dist', 'scripts', 'start.js');
const READY_MS_MAX = 60_000;
const STOP_MS_MAX = 40_000;
/** A shell notes what it executes, and nohup hands that on. */
const AS_BY_NOHUP = { _: '/usr/bin/nohup' };

interface Launched {
  child: ChildProcess;
  output: () => string;
  exit: Promise<number | null>;
}

describe('npm start', () => {
  let folder: string;
  let port: number;
  const launched: Launched[] = [];

  const environment = (): NodeJS.ProcessEnv => ({
    ...plainEnvironment(),
    PORT: String(port),
    PAYMENT_DATA_DIR: join(folder, 'data'),
  });

  function launch(script = START, more: NodeJS.ProcessEnv = {}): Launched {
    return run(process.execPath, [script], more);
  }

  /** In a session of its own: how the tests themselves were started must not tell anything about it. */
  function run(file: string, args: string[], more: NodeJS.ProcessEnv = {}): Launched {
    const env = { ...environment(), ...more };
    const child = spawn(file, args, { cwd: projectRoot, env, stdio: 'pipe', detached: true });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()));
    const exit = new Promise<number | null>((resolve) => child.once('close', resolve));
    const one = { child, output: () => output, exit };
    launched.push(one);
    return one;
  }

  async function serving(one = launch()): Promise<Launched> {
    await eventually(
      'the banner',
      async () => one.output().includes('curl -i') || one.child.exitCode !== null,
      READY_MS_MAX,
    );
    expect(one.output()).toContain('curl -i');
    return one;
  }

  /** Processes whose command line or working folder is in the data folder: whatever a stopped launcher left. */
  function leftBehind(): string[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
          return command.includes(folder) ? [command] : [];
        } catch {
          return [];
        }
      });
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'payment-core-launcher-'));
    port = await freePort();
  });

  afterAll(async () => {
    for (const { child, exit } of launched) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exit;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('serves what its banner says: the line that it prints authorizes a card as it stands', async () => {
    const first = await serving();
    const line = /^curl -i .*$/m.exec(first.output())?.[0] ?? '';
    const { stdout } = await shell('sh', ['-c', line]);
    expect(stdout).toMatch(/^HTTP\/1\.1 201 Created/);
    expect(stdout).toContain('"status":"APPROVED"');
    const password = /password: (\S+?)\)/.exec(first.output())?.[1] ?? '';
    const Authorization = `Basic ${Buffer.from(`operator:${password}`).toString('base64')}`;
    expect((await send(`http://127.0.0.1:${port}/queues`, { headers: { Authorization } })).status).toBe(200);
  });

  it('is started once: a second start says who serves, and touches nothing', async () => {
    const second = launch();
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain(String(launched[0]?.child.pid));
    expect((await send(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
  });

  it('prints a token and nothing else', async () => {
    const { stdout } = await shell(
      process.execPath,
      [join(projectRoot, 'dist', 'scripts', 'token.js'), '--subject', 'checkout', '--scope', 'authorizations'],
      { env: environment() },
    );
    expect(stdout.trim()).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    const found = await send(`http://127.0.0.1:${port}/v1/authorizations?idempotency_key=never-used`, {
      bearer: `Bearer ${stdout.trim()}`,
    });
    expect(found.status).toBe(404);
  });

  it('killed, leaves its services to the next start, and no data is lost', async () => {
    const [first] = launched;
    first?.child.kill('SIGKILL');
    await first?.exit;
    const again = await serving();
    const line = /^curl -i .*$/m.exec(again.output())?.[0] ?? '';
    const { stdout } = await shell('sh', [
      '-c',
      line.replace(/-H "Idempotency-Key: [^"]*"/, '-H "Idempotency-Key: kept"'),
    ]);
    const id = /"id":"(aut_\w+)"/.exec(stdout)?.[1];
    again.child.kill('SIGTERM');
    expect(await again.exit).toBe(0);

    const third = await serving(launch(START, AS_BY_NOHUP));
    const bearer = /Authorization: (Bearer [^"]+)"/.exec(third.output())?.[1] ?? '';
    const found = await send(`http://127.0.0.1:${port}/v1/authorizations/${id}`, { bearer });
    expect(found.status).toBe(200);
  });

  it('goes on after a hangup where nohup has started it', async () => {
    const last = launched.at(-1);
    last?.child.kill('SIGHUP');
    await sleep(500);
    expect(last?.output()).not.toContain('draining');
    expect((await send(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
  });

  it('told to stop, leaves no process', async () => {
    const last = launched.at(-1);
    last?.child.kill('SIGINT');
    expect(await last?.exit).toBe(0);
    expect(leftBehind()).toEqual([]);
  });

  it('drains and leaves no process when its terminal is closed', async () => {
    const line = `exec "${process.execPath}" "${START}"`;
    const terminal = await serving(run('script', ['-qfc', line, '/dev/null'], { SHELL: '/bin/sh' }));
    expect(existsSync(join(folder, 'data', 'launcher.lock'))).toBe(true);
    terminal.child.kill('SIGKILL');
    await eventually('the end', async () => !existsSync(join(folder, 'data', 'launcher.lock')), STOP_MS_MAX);
    expect(leftBehind()).toEqual([]);
    await expect(send(`http://127.0.0.1:${port}/health/live`)).rejects.toThrow();
  });

  it('names a port that is taken, before it starts anything', async () => {
    const squatter: Server = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve) => squatter.once('listening', resolve));
    const refused = launch();
    expect(await refused.exit).toBe(1);
    expect(refused.output()).toContain(String(port));
    expect(leftBehind()).toEqual([]);
    await new Promise((resolve) => squatter.close(resolve));
  });

  it('reset takes the data away', async () => {
    expect(existsSync(join(folder, 'data'))).toBe(true);
    const reset = launch(join(projectRoot, 'dist', 'scripts', 'reset.js'));
    expect(await reset.exit).toBe(0);
    expect(existsSync(join(folder, 'data', 'postgres'))).toBe(false);
  });
});
