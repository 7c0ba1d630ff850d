import { join } from 'node:path';
import { childrenOf, type ProcessIdentity, signalProcess, waitForExit } from '../../scripts/setup/os/processes';
import { giveTo, makeOpenFolder, serviceUser } from '../../scripts/setup/os/service-user';
import { sharedFolder } from '../../scripts/setup/service-folder';
import {
  type EmbeddedPostgresOptions,
  type RunningPostgres,
  runningPostmaster,
  startPostgres,
  stopPostgres,
} from '../../scripts/setup/services/embedded-postgres';
import {
  type EmbeddedRedisOptions,
  type RunningRedis,
  runningRedis,
  startRedis,
  stopRedis,
} from '../../scripts/setup/services/embedded-redis';
import { postgresBinaries } from '../../scripts/setup/services/postgres-binaries';
import { installedRedis } from '../../scripts/setup/services/redis-executable';
import { atEndOfFile } from './closers';
import { workerFolder } from './run-folder';

const PASSWORD = 'payment-core-test';
/** The lanes' own limits are per role; this leaves room for a second server and the tests' own connections. */
const CONNECTIONS_MAX = 240;

/** Starts again until it is the port that clients know; the starter takes another one where that one is taken just then. */
async function onPort(port: number, start: () => Promise<number>): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if ((await start()) === port) return;
  }
  throw new Error(`Port ${port} stays taken by something else`);
}

/** A PostgreSQL that tests may kill, freeze and start again. Its port stays the same over all of that. */
export class TestPostgres {
  private constructor(
    private readonly options: EmbeddedPostgresOptions,
    private running: RunningPostgres,
  ) {}

  static async start(folder: string, durable: boolean): Promise<TestPostgres> {
    const user = serviceUser();
    const logFolder = join(folder, 'logs');
    makeOpenFolder(logFolder);
    giveTo(user, logFolder);
    const options: EmbeddedPostgresOptions = {
      dataFolder: join(folder, 'postgres'),
      logFile: join(logFolder, 'postgres.log'),
      binaries: postgresBinaries(user, sharedFolder),
      user,
      adminPassword: PASSWORD,
      connectionsMax: CONNECTIONS_MAX,
      portPreferred: null,
      durable,
    };
    return new TestPostgres(options, await startPostgres(options));
  }

  get port(): number {
    return this.running.port;
  }

  /** The superuser's URL; without an argument, of the maintenance database. */
  adminUrl(database = 'postgres'): string {
    return `${this.running.serverUrl}${encodeURIComponent(database)}`;
  }

  /** SIGKILL to the postmaster and all its children at once, as if the machine had lost them. */
  async kill(): Promise<void> {
    const processes = this.processes();
    for (const process of processes) signalProcess(process, 'SIGKILL');
    for (const process of processes) await waitForExit(process, 10_000);
  }

  /** SIGSTOP: connections stay open and nothing answers. The postmaster first, so that it starts no new children. */
  freeze(): void {
    for (const process of this.processes()) signalProcess(process, 'SIGSTOP');
  }

  thaw(): void {
    for (const process of this.processes().reverse()) signalProcess(process, 'SIGCONT');
  }

  async stop(): Promise<void> {
    this.thaw();
    await stopPostgres(this.options);
  }

  /** Starts again on the same port, whether it was stopped, killed or still runs. */
  async restart(): Promise<void> {
    const { port } = this.running;
    await onPort(port, async () => {
      await this.stop();
      this.running = await startPostgres({ ...this.options, portPreferred: port });
      return this.running.port;
    });
  }

  private processes(): ProcessIdentity[] {
    const found = runningPostmaster(this.options.dataFolder);
    return found === null ? [] : [found.postmaster, ...childrenOf(found.postmaster.pid)];
  }
}

/** A Redis that tests may kill, freeze and start again on the same port. */
export class TestRedis {
  private constructor(
    private readonly options: EmbeddedRedisOptions,
    private running: RunningRedis,
  ) {}

  static async start(folder: string, durable: boolean): Promise<TestRedis> {
    const user = serviceUser();
    const logFolder = join(folder, 'logs');
    makeOpenFolder(logFolder);
    giveTo(user, logFolder);
    const options: EmbeddedRedisOptions = {
      dataFolder: join(folder, 'redis'),
      logFile: join(logFolder, 'redis.log'),
      executable: await installedRedis(),
      user,
      password: PASSWORD,
      portPreferred: null,
      durable,
    };
    return new TestRedis(options, await startRedis(options));
  }

  get url(): string {
    return this.running.url;
  }

  async kill(): Promise<void> {
    const server = runningRedis(this.options.dataFolder);
    if (server === null) return;
    signalProcess(server, 'SIGKILL');
    await waitForExit(server, 10_000);
  }

  freeze(): void {
    this.signal('SIGSTOP');
  }

  thaw(): void {
    this.signal('SIGCONT');
  }

  async stop(): Promise<void> {
    this.thaw();
    await stopRedis(this.options.dataFolder);
  }

  async restart(): Promise<void> {
    const { port } = this.running;
    await onPort(port, async () => {
      await this.stop();
      this.running = await startRedis({ ...this.options, portPreferred: port });
      return this.running.port;
    });
  }

  private signal(signal: NodeJS.Signals): void {
    const server = runningRedis(this.options.dataFolder);
    if (server !== null) signalProcess(server, signal);
  }
}

let postgres: Promise<TestPostgres> | null = null;
let redis: Promise<TestRedis> | null = null;

/** This worker's PostgreSQL: started by its first test file, found again by the next, without fsync. */
export function testPostgres(): Promise<TestPostgres> {
  postgres ??= TestPostgres.start(workerFolder(), false).then((started) => {
    atEndOfFile(() => started.thaw());
    return started;
  });
  return postgres;
}

/** This worker's Redis, likewise. */
export function testRedis(): Promise<TestRedis> {
  redis ??= TestRedis.start(workerFolder(), false).then((started) => {
    atEndOfFile(() => started.thaw());
    return started;
  });
  return redis;
}

let ownServices = 0;

/** A cluster for one test file, stopped at its end: for tests that break things or need durability. */
export async function startOwnCluster(options: { durable: boolean }): Promise<TestPostgres> {
  const started = await TestPostgres.start(ownFolder(), options.durable);
  atEndOfFile(() => started.kill());
  return started;
}

export async function startOwnRedis(options: { durable: boolean }): Promise<TestRedis> {
  const started = await TestRedis.start(ownFolder(), options.durable);
  atEndOfFile(() => started.kill());
  return started;
}

function ownFolder(): string {
  const folder = join(workerFolder(), `own-${Date.now()}-${(ownServices += 1)}`);
  makeOpenFolder(folder);
  return folder;
}
