import { laneUrlFromServerUrl } from '../../../config/data-sources';
import { LANES, laneTable } from '../../../config/lanes';
import type { ScriptEnvironment } from '../script-environment';
import type { SecretsWithKeys } from '../secrets';

/**
 * What the application is given: each lane its own login, and nobody the administrator's, which could read every lane's
 * tables.
 *
 * @param taxProviderUrl of the simulator; null where a provider is given.
 * @param serverUrl of the server that serves all lanes; null where each lane's own is given.
 */
export function applicationEnvironment(
  environment: ScriptEnvironment,
  secrets: SecretsWithKeys,
  serverUrl: string | null,
  redisUrl: string | null,
  taxProviderUrl: string | null = null,
): NodeJS.ProcessEnv {
  const { DATABASE_URL: _admin, MIGRATION_DATABASE_URL: _migrator, ...rest } = environment.variables;
  const result: NodeJS.ProcessEnv = {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    OPERATOR_PASSWORD: secrets.operatorPassword,
    // Beside an embedded database only: other machines that share a server must arrive at one key.
    ...(environment.postgresEmbedded && { FRAUD_FINGERPRINT_KEY: secrets.fraudFingerprintKey }),
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined && value.trim() !== '')),
  };
  if (serverUrl !== null) {
    for (const lane of LANES) {
      result[`DATABASE_URL_${lane.toUpperCase()}`] ??= laneUrlFromServerUrl(serverUrl, laneTable[lane].datasource.role);
    }
  }
  if (redisUrl !== null) result['REDIS_URL'] = redisUrl;
  if (taxProviderUrl !== null) result['TAX_PROVIDER_URL'] = taxProviderUrl;
  if (environment.keysEmbedded) result['JWKS_FILE'] = secrets.jwksFile;
  return result;
}
