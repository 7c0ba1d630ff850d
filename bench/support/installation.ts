import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../../config/environment';
import { applicationEnvironment } from '../../scripts/setup/launcher/application-environment';
import { EmbeddedServiceGroup, redisExecutableFor } from '../../scripts/setup/launcher/embedded-services';
import { applicationSettings } from '../../scripts/setup/launcher/preflight';
import { connectionsMaxOf } from '../../scripts/setup/lane-places';
import { plainEnvironment } from '../../scripts/setup/os/run-command';
import { withDatabase } from '../../scripts/setup/postgres-client';
import { projectRoot } from '../../scripts/setup/project';
import { readScriptEnvironment } from '../../scripts/setup/script-environment';
import { ensureSecrets, type SecretsWithKeys } from '../../scripts/setup/secrets';
import { ensureServiceFolder } from '../../scripts/setup/service-folder';
import { PAYMENT_DATABASE, setUpDatabase } from '../../scripts/setup/setup-database';
import { signToken } from '../../scripts/setup/tokens';
import type { Closing } from './closing';

const TOKEN_SECONDS = 12 * 3_600;
/** `f_type` of a file system in memory, on which fsync costs nothing and every figure would be too good. */
const TMPFS_MAGIC = 0x01021994;

/** PostgreSQL and Redis as `npm start` brings them, in a folder of their own, with demo data. */
export interface Installation {
  readonly folder: string;
  readonly settings: Settings;
  /** What the application is given by `npm start`; role and port are each process's own. */
  readonly environment: NodeJS.ProcessEnv;
  /** The administrator's URL of the payment database. */
  readonly adminUrl: string;
  readonly operatorPassword: string;
  readonly postmasterPid: number;
  readonly redisPid: number;
  /** From now on a service that ends is started again, on the port that the application knows, as `npm start` does it. */
  watchServices(): void;
  /** A caller's token for all merchants; its subject tells the rows of one run from another's. */
  token(subject: string, scopes: readonly string[]): Promise<string>;
}

/** Starts both services by the launcher's own code and settings, provisions, migrates and loads the demo data. */
export async function install(closing: Closing): Promise<Installation> {
  const folder = makeFolder();
  closing.add('the data folder', async () => rmSync(folder, { recursive: true, force: true }));
  // Only what a fresh shell would give: a DATABASE_URL of this one must not direct load at somebody's server.
  const environment = readScriptEnvironment({ ...plainEnvironment(), PAYMENT_DATA_DIR: folder });
  if (ensureServiceFolder(folder).elsewhere) throw new Error(`${folder} cannot be reached by the services' user`);
  const settings = applicationSettings(environment);
  const secrets = await ensureSecrets(folder);
  const input = { environment, secrets, connectionsMax: connectionsMaxOf(settings), previous: null };
  const services = EmbeddedServiceGroup.prepare(input);
  if (services === null) throw new Error('The services are not embedded');
  closing.add('PostgreSQL and Redis', () => services.stop());
  const redisExecutable = await redisExecutableFor(environment);
  const started = await services.start(redisExecutable);
  const { postgres, redis } = started;
  if (postgres === null || redis === null) throw new Error('The services did not start');
  const adminUrl = withDatabase(postgres.serverUrl, PAYMENT_DATABASE);
  const setup = { adminUrl, serverUrl: adminUrl, laneUrls: {}, provision: true, dedicatedServer: true, demoData: true };
  await setUpDatabase(setup, settings);
  return {
    folder,
    settings,
    environment: applicationEnvironment(environment, secrets, adminUrl, redis.url),
    adminUrl,
    operatorPassword: secrets.operatorPassword,
    postmasterPid: postgres.postmaster.pid,
    redisPid: redis.server.pid,
    watchServices: () => services.watch(started, redisExecutable),
    token: (subject, scopes) => tokenFor(secrets, settings, subject, scopes),
  };
}

function tokenFor(
  secrets: SecretsWithKeys,
  { jwt }: Settings,
  subject: string,
  scopes: readonly string[],
): Promise<string> {
  return signToken(secrets.signingKey.privateJwk, {
    subject,
    scopes,
    merchants: '*',
    issuer: jwt.issuer,
    audience: jwt.audience,
    expiresInSeconds: TOKEN_SECONDS,
  });
}

/** A new folder on a real disk that the services' user can reach. */
function makeFolder(): string {
  const places = [tmpdir(), '/var/tmp', join(projectRoot, '.data')];
  const place = places.find((candidate) => isOnDisk(candidate));
  if (place === undefined) throw new Error(`None of ${places.join(', ')} is on a disk`);
  const folder = mkdtempSync(join(place, 'payment-core-bench-'));
  chmodSync(folder, 0o755);
  return folder;
}

function isOnDisk(folder: string): boolean {
  mkdirSync(folder, { recursive: true });
  return statfsSync(folder).type !== TMPFS_MAGIC;
}
