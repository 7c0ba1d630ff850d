import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { makeOpenFolder } from './os/service-user';
import { SetupError } from './setup-error';
import { generateSigningKey } from './tokens';

/** What a data folder's services and callers know each other by; made once, kept in a file that only its user may read. */
export interface Secrets {
  /** The administrator's; each lane's own is derived from it. */
  postgresPassword: string;
  redisPassword: string;
  operatorPassword: string;
  signingKey: { privateJwk: JWK; publicJwk: JWK };
}

export interface SecretsWithKeys extends Secrets {
  /** The public half, as the application takes it. */
  jwksFile: string;
  /** What card tokens are fingerprinted with. A file of its own: folders of earlier versions have none yet. */
  fraudFingerprintKey: string;
}

/** Two scripts may come here at once (a start and a token): the first one's secrets are everybody's. */
export async function ensureSecrets(dataFolder: string): Promise<SecretsWithKeys> {
  const file = join(dataFolder, 'secrets.json');
  const secrets = readSecrets(file) ?? (await createSecrets(dataFolder, file));
  const jwksFile = join(dataFolder, 'jwks.json');
  const jwks = `${JSON.stringify({ keys: [secrets.signingKey.publicJwk] }, null, 2)}\n`;
  if (readOrNull(jwksFile) !== jwks) writeFileSync(jwksFile, jwks);
  const keyFile = join(dataFolder, 'fraud-fingerprint.key');
  if (readOrNull(keyFile) === null) createOnce(keyFile, randomBytes(32).toString('base64url'));
  return { ...secrets, jwksFile, fraudFingerprintKey: (readOrNull(keyFile) ?? '').trim() };
}

/** The secrets of a folder that has been started before; null where it has not. */
export function existingSecrets(dataFolder: string): Secrets | null {
  return readSecrets(join(dataFolder, 'secrets.json'));
}

async function createSecrets(dataFolder: string, file: string): Promise<Secrets> {
  makeOpenFolder(dataFolder);
  const secrets: Secrets = {
    postgresPassword: randomBytes(24).toString('base64url'),
    redisPassword: randomBytes(24).toString('base64url'),
    operatorPassword: randomBytes(12).toString('base64url'),
    signingKey: await generateSigningKey(),
  };
  createOnce(file, JSON.stringify(secrets, null, 2));
  return readSecrets(file) ?? secrets;
}

/** Whole or not at all, for this user's eyes, and never over what another script has made meanwhile. */
function createOnce(file: string, text: string): void {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, `${text}\n`, { mode: 0o600 });
  try {
    linkSync(mine, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(mine, { force: true });
  }
}

function readSecrets(file: string): Secrets | null {
  const text = readOrNull(file);
  if (text === null) return null;
  try {
    const secrets = JSON.parse(text) as Partial<Secrets>;
    if (secrets.postgresPassword && secrets.redisPassword && secrets.operatorPassword && secrets.signingKey) {
      return secrets as Secrets;
    }
  } catch {
    // Answered below, like a file in which something is missing.
  }
  throw new SetupError(
    `${file} cannot be read as payment-core's secrets. Restore it, or clear all with 'npm run reset'.`,
  );
}

function readOrNull(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === 'EACCES')
      throw new SetupError(`${file} belongs to another user: run this as the user who started it first`);
    throw error;
  }
}
