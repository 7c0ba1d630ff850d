import { errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../shared/clock';
import type { Caller } from './caller';
import { KeySet, type KeySetLimits, type KeySetSource } from './key-set';

export interface IdentitySettings {
  readonly keys: KeySetSource;
  readonly issuer: string;
  readonly audience: string;
}

export interface IdentityOptions {
  /** Wall-clock time: `exp` is a date, so nothing monotonic can judge it. */
  readonly wallNowMs?: () => number;
  readonly onKeySetFailure?: (error: Error) => void;
  readonly keySetLimits?: Partial<KeySetLimits>;
}

/** Contract 8. No symmetric algorithm may ever stand here: the public key would be its secret. */
const ALGORITHMS = ['ES256', 'EdDSA'];
const CLOCK_TOLERANCE_SECONDS = 5;
const VERIFIED_TOKENS_MAX = 10_000;
const TOKEN_CHARACTERS_MAX = 8 * 1024;
const SUBJECT_CHARACTERS_MAX = 255;
const MERCHANTS_MAX = 10_000;

interface Verified {
  readonly caller: Caller;
  /** Not a good token any more from here on. */
  readonly endsAtMs: number;
}

/**
 * Who sent a request, by its JWT, verified in process with the issuer's public keys. A token that was verified
 * before is answered synchronously and at no cost until it expires or the keys change; refusals are not remembered.
 * Tokens are kept in memory only and never logged.
 */
export class TokenVerifier {
  readonly #settings: IdentitySettings;
  readonly #wallNowMs: () => number;
  readonly #keySet: KeySet;
  readonly #verified = new LRUCache<string, Verified>({ max: VERIFIED_TOKENS_MAX });
  /** Verifications under way, so that a burst under one new token costs one. */
  readonly #verifying = new Map<string, Promise<Caller | null>>();

  constructor(settings: IdentitySettings, clock: Clock, options: IdentityOptions = {}) {
    this.#settings = settings;
    this.#wallNowMs = options.wallNowMs ?? Date.now;
    this.#keySet = new KeySet(
      settings.keys,
      clock,
      {
        onChanged: () => this.#verified.clear(),
        ...(options.onKeySetFailure && { onFailure: options.onKeySetFailure }),
      },
      options.keySetLimits,
    );
  }

  /** Reads the keys once. A dead source is no reason not to start: it is tried again while the process runs. */
  start(): Promise<void> {
    return this.#keySet.start();
  }

  close(): void {
    this.#keySet.close();
    this.#verified.clear();
  }

  /** Whether any key is known; without one every token is refused. */
  get ready(): boolean {
    return this.#keySet.getKey !== null;
  }

  /** The caller that a token names, or null where the token is not good. Never rejects. */
  verify(token: string): Caller | null | Promise<Caller | null> {
    const known = this.#verified.get(token);
    if (known !== undefined) {
      if (this.#wallNowMs() < known.endsAtMs) return known.caller;
      this.#verified.delete(token);
      return null;
    }
    if (token.length > TOKEN_CHARACTERS_MAX) return null;
    let verifying = this.#verifying.get(token);
    if (verifying === undefined) {
      verifying = this.#verifyAnew(token).finally(() => this.#verifying.delete(token));
      this.#verifying.set(token, verifying);
    }
    return verifying;
  }

  async #verifyAnew(token: string): Promise<Caller | null> {
    const { getKey } = this.#keySet;
    const verified = getKey === null ? 'unknown_key' : await this.#check(token, getKey);
    if (verified !== 'unknown_key') return verified;
    await this.#keySet.refreshForUnknownKey();
    const { getKey: freshKey } = this.#keySet;
    if (freshKey === null || freshKey === getKey) return null;
    const again = await this.#check(token, freshKey);
    return again === 'unknown_key' ? null : again;
  }

  async #check(token: string, getKey: JWTVerifyGetKey): Promise<Caller | null | 'unknown_key'> {
    try {
      const { payload } = await jwtVerify(token, getKey, {
        issuer: this.#settings.issuer,
        audience: this.#settings.audience,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'sub'],
        currentDate: new Date(this.#wallNowMs()),
      });
      const caller = callerFromClaims(payload);
      // Keys that changed meanwhile have emptied the cache for a reason.
      if (caller !== null && getKey === this.#keySet.getKey) {
        const endsAtMs = ((payload.exp as number) + CLOCK_TOLERANCE_SECONDS) * 1000;
        this.#verified.set(token, { caller, endsAtMs });
      }
      return caller;
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? 'unknown_key' : null;
    }
  }
}

/** Claims of a type that the contract does not know make the token bad: a guess would give rights away. */
function callerFromClaims({ sub, scope, merchants }: JWTPayload): Caller | null {
  if (typeof sub !== 'string' || !isSubject(sub)) return null;
  if (scope !== undefined && typeof scope !== 'string') return null;
  const allowedMerchants = merchantsFromClaim(merchants);
  if (allowedMerchants === null) return null;
  const scopes = new Set((scope ?? '').split(' ').filter((name) => name !== ''));
  return { subject: sub, scopes, merchants: allowedMerchants };
}

/** A subject goes into the database and into logs: no half characters, no NUL or other control characters. */
function isSubject(sub: string): boolean {
  return sub !== '' && sub.length <= SUBJECT_CHARACTERS_MAX && sub.isWellFormed() && !/\p{Cc}/u.test(sub);
}

/** `*`, or a list of ids; a token without the claim may act for no merchant. `*` in a list is no merchant's id. */
function merchantsFromClaim(claim: unknown): ReadonlySet<string> | '*' | null {
  if (claim === undefined) return new Set();
  if (claim === '*') return '*';
  if (!Array.isArray(claim) || claim.length > MERCHANTS_MAX) return null;
  if (!claim.every((merchant) => typeof merchant === 'string')) return null;
  return new Set(claim);
}
