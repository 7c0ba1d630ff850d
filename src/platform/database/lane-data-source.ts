import { setTimeout as delay } from 'node:timers/promises';
import type { PoolConfig } from 'pg';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { isWorthReconnecting } from './driver-errors';
import { IDLE_IN_TRANSACTION_MS_MAX, LOCK_WAIT_MS_MAX, statementLimits } from './statement-limits';

export interface LaneDataSourceSettings {
  /** Also the `application_name`, by which operators tell the lanes apart in `pg_stat_activity`. */
  readonly datasource: string;
  readonly url: string;
  /** The lane's only schema; statements need not name it. */
  readonly schema: string;
  readonly connections: number;
  readonly executionMsMax: number;
  /**
   * Statements are planned once for all values. Over many partitions the server takes such a plan for the dearer one, since
   * it does not count what is pruned when the statement runs, and plans anew each time.
   */
  readonly genericPlans?: boolean;
  readonly entities: NonNullable<DataSourceOptions['entities']>;
}

/** A login takes milliseconds; one that takes this long is given up and tried again. */
const LOGIN_MS_MAX = 2_000;
const CONNECT_WITHIN_MS = 30_000;
const BACK_OFF_MS_MIN = 100;
const BACK_OFF_MS_MAX = 2_000;

/**
 * Settings of the session itself. A killed process's backends notice within half a second that nobody listens, so
 * that its successor finds room under the role's connection limit (contract 12).
 */
function sessionOptions({ schema, genericPlans = false }: Omit<LaneDataSourceSettings, 'entities'>): string {
  const plans = genericPlans ? ' -c plan_cache_mode=force_generic_plan' : '';
  return `-c search_path=${schema} -c client_connection_check_interval=500${plans}`;
}

/** What the pool and its connections are told; the server enforces its part even where this process hangs. */
export function lanePoolConfig(settings: Omit<LaneDataSourceSettings, 'entities'>): PoolConfig {
  return {
    connectionString: settings.url,
    application_name: settings.datasource,
    max: settings.connections,
    min: settings.connections,
    // Never shrinks: a connection opened under load costs the request that needs it up to a second.
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: LOGIN_MS_MAX,
    statement_timeout: statementLimits(settings.executionMsMax).serverMs,
    lock_timeout: LOCK_WAIT_MS_MAX,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: sessionOptions(settings),
  };
}

/** The TypeORM options of a lane's own datasource. Nothing is synchronised, and nothing logged: values are card data. */
export function laneDataSourceOptions(settings: LaneDataSourceSettings): DataSourceOptions {
  return {
    type: 'postgres',
    url: settings.url,
    schema: settings.schema,
    entities: settings.entities,
    synchronize: false,
    migrationsRun: false,
    logging: false,
    installExtensions: false,
    // The pool's own listener (LaneDatabase) sees them; TypeORM would print them by console.
    poolErrorHandler: () => {},
    extra: lanePoolConfig(settings),
  };
}

/**
 * Connects, for up to 30 s where the server is away, starting or full (contract 12), then fails plainly.
 * `TypeOrmModule.forRootAsync({ name, useFactory, dataSourceFactory: connectLaneDataSource })`.
 */
export async function connectLaneDataSource(
  options?: DataSourceOptions,
  withinMs = CONNECT_WITHIN_MS,
): Promise<DataSource> {
  if (!options) throw new Error('The datasource has no options');
  const deadlineMs = performance.now() + withinMs;
  let backOffMs = BACK_OFF_MS_MIN;
  for (;;) {
    try {
      return await new DataSource(options).initialize();
    } catch (error) {
      if (isWorthReconnecting(error) && performance.now() + backOffMs < deadlineMs) {
        await delay(backOffMs);
        backOffMs = Math.min(backOffMs * 2, BACK_OFF_MS_MAX);
        continue;
      }
      throw new Error(`${describe(options)} cannot be used: ${(error as Error).message || String(error)}`, {
        cause: error,
      });
    }
  }
}

/** Server, database and user, without the password. */
function describe(options: DataSourceOptions): string {
  const url = 'url' in options && options.url ? URL.parse(options.url) : null;
  if (!url) return 'The database';
  return `The database ${url.pathname.slice(1)} at ${url.host} (user ${decodeURIComponent(url.username)})`;
}
