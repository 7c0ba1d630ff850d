import { join, resolve } from 'node:path';
import { type Lane, LANES } from '../../config/lanes';
import { projectRoot } from './project';

/** What the scripts take from the environment; the application's own settings are config/environment.ts. */
export interface ScriptEnvironment {
  /** A copy of the whole, to be completed and handed to the application. */
  variables: Readonly<Record<string, string | undefined>>;
  /** Where embedded PostgreSQL and Redis, keys and passwords live. */
  dataFolder: string;
  /** One server for all lanes, with an administrator's login. */
  databaseUrl: string | null;
  laneDatabaseUrls: Readonly<Partial<Record<Lane, string>>>;
  /** The administrator's login where it differs from what the application is given. */
  migrationDatabaseUrl: string | null;
  postgresEmbedded: boolean;
  redisEmbedded: boolean;
  keysEmbedded: boolean;
  /** Whether the tax provider's simulator is started; never in production, which names its provider. */
  taxProviderEmbedded: boolean;
  jwtIssuer: string;
  jwtAudience: string;
  demoData: boolean;
  /** The lane that the TypeORM command line works on. */
  typeormLane: string | null;
}

/** The only reader of process.env among the scripts. */
export function readScriptEnvironment(
  source: Readonly<Record<string, string | undefined>> = process.env,
): ScriptEnvironment {
  const read = (name: string): string | null => {
    const value = source[name]?.trim();
    return value === undefined || value === '' ? null : value;
  };
  const perLane = (prefix: string): Partial<Record<Lane, string>> => {
    const given: Partial<Record<Lane, string>> = {};
    for (const lane of LANES) {
      const value = read(`${prefix}${lane.toUpperCase()}`);
      if (value !== null) given[lane] = value;
    }
    return given;
  };
  const databaseUrl = read('DATABASE_URL');
  const laneDatabaseUrls = perLane('DATABASE_URL_');
  const postgresEmbedded = databaseUrl === null && Object.keys(laneDatabaseUrls).length === 0;
  return {
    variables: { ...source },
    dataFolder: resolve(read('PAYMENT_DATA_DIR') ?? join(projectRoot, '.data')),
    databaseUrl,
    laneDatabaseUrls,
    migrationDatabaseUrl: read('MIGRATION_DATABASE_URL'),
    postgresEmbedded,
    redisEmbedded: read('REDIS_URL') === null && Object.keys(perLane('REDIS_URL_')).length === 0,
    keysEmbedded: read('JWKS_FILE') === null && read('JWKS_URL') === null,
    taxProviderEmbedded: read('TAX_PROVIDER_URL') === null && read('NODE_ENV') !== 'production',
    jwtIssuer: read('JWT_ISSUER') ?? 'payment-core',
    jwtAudience: read('JWT_AUDIENCE') ?? 'payment-core',
    demoData: postgresEmbedded || read('PAYMENT_DEMO_DATA') === '1',
    typeormLane: read('PAYMENT_LANE'),
  };
}
