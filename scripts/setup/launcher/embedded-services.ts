import { existsSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { say, step } from '../report';
import type { ScriptEnvironment } from '../script-environment';
import type { Secrets } from '../secrets';
import { ensureServiceFolder, type ServiceFolder, sharedFolder } from '../service-folder';
import {
  type EmbeddedPostgresOptions,
  type RunningPostgres,
  runningPostmaster,
  startPostgres,
  stopPostgres,
} from '../services/embedded-postgres';
import { type RunningRedis, runningRedis, startRedis, stopRedis } from '../services/embedded-redis';
import { postgresBinaries } from '../services/postgres-binaries';
import { installedRedis } from '../services/redis-executable';
import type { RunState } from './run-state';
import { ServiceWatch, type WatchedService } from './service-watch';

export interface EmbeddedServices {
  postgres: RunningPostgres | null;
  redis: RunningRedis | null;
}

export interface EmbeddedServicesInput {
  environment: ScriptEnvironment;
  secrets: Secrets;
  connectionsMax: number;
  /** What the last launcher noted. */
  previous: RunState | null;
}

const LOG_BYTES_MAX = 10 * 1024 * 1024;

/** PostgreSQL and Redis as far as the environment names no others. They live on when this process is killed. */
export class EmbeddedServiceGroup {
  private readonly places: ServiceFolder;
  private readonly postgresOptions: EmbeddedPostgresOptions | null;
  private started = false;
  private serviceWatch: ServiceWatch | null = null;

  private constructor(private readonly input: EmbeddedServicesInput) {
    const { environment, secrets, connectionsMax } = input;
    this.places = ensureServiceFolder(environment.dataFolder);
    const { user } = this.places;
    if (this.places.elsewhere) {
      say(
        `PostgreSQL and Redis run as an unprivileged user, who cannot reach ${environment.dataFolder}: ` +
          `their files are in ${this.places.folder}`,
      );
    }
    this.postgresOptions = environment.postgresEmbedded
      ? {
          dataFolder: this.places.postgresData,
          logFile: join(this.places.logs, 'postgres.log'),
          binaries: postgresBinaries(user, sharedFolder),
          user,
          adminPassword: secrets.postgresPassword,
          connectionsMax,
          portPreferred: null,
          durable: true,
        }
      : null;
  }

  static prepare(input: EmbeddedServicesInput): EmbeddedServiceGroup | null {
    const { postgresEmbedded, redisEmbedded } = input.environment;
    return postgresEmbedded || redisEmbedded ? new EmbeddedServiceGroup(input) : null;
  }

  /** Where PostgreSQL's and Redis's files are. */
  get folder(): string {
    return this.places.folder;
  }

  async start(redisExecutable: string | null): Promise<EmbeddedServices> {
    this.started = true;
    // Both are waited for even if one fails, so that whatever has started is known to the stop that follows.
    const [postgres, redis] = await Promise.allSettled([this.startPostgres(), this.startRedis(redisExecutable)]);
    if (postgres.status === 'rejected') throw postgres.reason;
    if (redis.status === 'rejected') throw redis.reason;
    const adopted = [postgres.value?.adopted === true && 'PostgreSQL', redis.value?.adopted === true && 'Redis'];
    const names = adopted.filter((name) => name !== false);
    if (names.length > 0) say(`took over ${names.join(' and ')}, which an earlier start had left running`);
    return { postgres: postgres.value, redis: redis.value };
  }

  /** From now on a service that was killed is started again, on the port that the application knows. */
  watch(running: EmbeddedServices, redisExecutable: string | null): void {
    const watched: WatchedService[] = [];
    const { postgres, redis } = running;
    const { postgresData, redisData } = this.places;
    if (postgres !== null) {
      watched.push({
        name: 'PostgreSQL',
        running: () => runningPostmaster(postgresData) !== null,
        start: async () => void (await this.startPostgres(postgres.port)),
      });
    }
    if (redis !== null) {
      watched.push({
        name: 'Redis',
        running: () => runningRedis(redisData) !== null,
        start: async () => void (await this.startRedis(redisExecutable, redis.port)),
      });
    }
    this.serviceWatch = new ServiceWatch(watched);
  }

  /** Redis first: it has the less to write. */
  async stop(): Promise<void> {
    if (!this.started) return;
    await this.serviceWatch?.close();
    const stops: (() => Promise<void>)[] = [];
    if (this.input.environment.redisEmbedded) stops.push(() => stopRedis(this.places.redisData));
    const options = this.postgresOptions;
    if (options !== null) stops.push(() => stopPostgres(options));
    const faults: unknown[] = [];
    for (const stop of stops) await stop().catch((error: unknown) => faults.push(error));
    if (faults.length > 0) throw faults[0];
  }

  private async startPostgres(port = this.input.previous?.postgresPort ?? null): Promise<RunningPostgres | null> {
    if (this.postgresOptions === null) return null;
    const options = { ...this.postgresOptions, portPreferred: port };
    rotate(options.logFile);
    return step(existsSync(options.dataFolder) ? 'starting PostgreSQL' : 'creating and starting PostgreSQL', () =>
      startPostgres(options),
    );
  }

  private async startRedis(
    executable: string | null,
    port = this.input.previous?.redisPort ?? null,
  ): Promise<RunningRedis | null> {
    if (executable === null) return null;
    const logFile = join(this.places.logs, 'redis.log');
    rotate(logFile);
    return step('starting Redis', () =>
      startRedis({
        dataFolder: this.places.redisData,
        logFile,
        executable,
        user: this.places.user,
        password: this.input.secrets.redisPassword,
        portPreferred: port,
        durable: true,
      }),
    );
  }
}

/** The executable where Redis is embedded; looked for, or installed, before anything else takes time. */
export async function redisExecutableFor(environment: ScriptEnvironment): Promise<string | null> {
  return environment.redisEmbedded ? installedRedis() : null;
}

/** One old log is kept; a service that runs on keeps writing to the file that it has open. */
function rotate(file: string): void {
  if (existsSync(file) && statSync(file).size > LOG_BYTES_MAX) renameSync(file, `${file}.1`);
}
