import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { LANES, laneTable } from '../../config/lanes';

const ALGORITHM = 'ES256';

/** What a caller may ask for: a scope per lane, and the operators' own. */
export const SCOPES: readonly string[] = [...LANES.map((lane) => laneTable[lane].scope), 'operator'];

export interface SigningKey {
  /** Never leaves the file it is kept in. */
  privateJwk: JWK;
  publicJwk: JWK;
}

/** A new ES256 key; its id is the thumbprint of RFC 7638, so that no two keys share one. */
export async function generateSigningKey(): Promise<SigningKey> {
  const pair = await generateKeyPair(ALGORITHM, { extractable: true });
  const bare = await exportJWK(pair.publicKey);
  const shared = { kid: await calculateJwkThumbprint(bare), alg: ALGORITHM, use: 'sig' };
  return { privateJwk: { ...(await exportJWK(pair.privateKey)), ...shared }, publicJwk: { ...bare, ...shared } };
}

export interface TokenClaims {
  subject: string;
  scopes: readonly string[];
  /** `*` for every merchant. */
  merchants: '*' | readonly string[];
  issuer: string;
  audience: string;
  expiresInSeconds: number;
}

/** A caller's token as contract 8 wants it. */
export async function signToken(privateJwk: JWK, claims: TokenClaims): Promise<string> {
  const issuedAt = Math.floor(Date.now() / 1_000);
  return new SignJWT({ scope: claims.scopes.join(' '), merchants: claims.merchants })
    .setProtectedHeader({
      alg: privateJwk.alg ?? ALGORITHM,
      typ: 'JWT',
      ...(privateJwk.kid && { kid: privateJwk.kid }),
    })
    .setSubject(claims.subject)
    .setIssuer(claims.issuer)
    .setAudience(claims.audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + claims.expiresInSeconds)
    .sign(await importJWK(privateJwk, ALGORITHM));
}
