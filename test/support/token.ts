import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { generateSigningKey, signToken } from '../../scripts/setup/tokens';
import { workerFolder } from './run-folder';

export interface TestTokenRequest {
  subject?: string;
  /** Space-separated, as in the claim. */
  scope?: string;
  merchants?: '*' | readonly string[];
  issuer?: string;
  audience?: string;
  /** Negative for a token that has expired. */
  expiresInSeconds?: number;
}

/** A key pair with its JWKS file, as a server takes it, and tokens signed with it. */
export interface TestIdentity {
  jwksFile: string;
  publicJwk: JWK;
  token(request?: TestTokenRequest): Promise<string>;
  /** `Bearer …`, ready for a header. */
  bearer(request?: TestTokenRequest): Promise<string>;
}

export async function createTestIdentity(): Promise<TestIdentity> {
  const key = await generateSigningKey();
  const jwksFile = join(workerFolder(), `jwks-${randomUUID()}.json`);
  writeFileSync(jwksFile, JSON.stringify({ keys: [key.publicJwk] }));
  const token = (request: TestTokenRequest = {}): Promise<string> =>
    signToken(key.privateJwk, {
      subject: request.subject ?? 'checkout',
      scopes: (request.scope ?? 'authorizations fraud tax ledger').split(' '),
      merchants: request.merchants ?? '*',
      issuer: request.issuer ?? 'payment-core',
      audience: request.audience ?? 'payment-core',
      expiresInSeconds: request.expiresInSeconds ?? 3_600,
    });
  return { jwksFile, publicJwk: key.publicJwk, token, bearer: async (request) => `Bearer ${await token(request)}` };
}
