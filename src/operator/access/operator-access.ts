import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { edgeProblems } from '../../ingress/problems';
import { PaymentError } from '../../shared/problem';

/** A caller's scopes by token, or null where the token is not good; the ingress's `TokenVerifier` is one. */
export interface VerifyToken {
  verify(
    token: string,
  ): { readonly scopes: ReadonlySet<string> } | null | Promise<{ readonly scopes: ReadonlySet<string> } | null>;
}

/** Injection token of the {@link VerifyToken} that the process provides. */
export const VERIFY_TOKEN = Symbol('VERIFY_TOKEN');

const OPERATOR_NAME = 'operator';
const OPERATOR_SCOPE = 'operator';
/** Methods that change nothing; the others must not come from another site's page. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const CHALLENGE = { 'www-authenticate': 'Basic realm="payment-core operators", charset="UTF-8"' };

/**
 * Who may see and do what operators do (contract 8): `operator` with the password by HTTP Basic, or a Bearer token
 * with the scope `operator`. Without a password Basic is closed.
 */
export class OperatorAccess {
  readonly #passwordDigest: Buffer | null;
  readonly #tokens: VerifyToken | null;

  constructor(password: string | null, tokens: VerifyToken | null) {
    this.#passwordDigest = password === null ? null : digest(password);
    this.#tokens = tokens;
  }

  /** @throws PaymentError 401 with a challenge, or 403. */
  async require(request: Pick<FastifyRequest, 'method' | 'headers'>): Promise<void> {
    const { method, headers } = request;
    const site = headers['sec-fetch-site'];
    if (!SAFE_METHODS.has(method) && site !== undefined && site !== 'same-origin' && site !== 'none') {
      // A browser sends Basic credentials along with whatever another site's page asks it to.
      throw new PaymentError(edgeProblems.forbidden, 'Operators act from the pages of this service only.');
    }
    const [scheme = '', credentials = ''] = (headers.authorization ?? '').split(/ +/, 2);
    if (/^basic$/i.test(scheme) && this.#passwordMatches(credentials)) return;
    if (/^bearer$/i.test(scheme) && this.#tokens !== null) {
      const caller = await this.#tokens.verify(credentials);
      if (caller?.scopes.has(OPERATOR_SCOPE)) return;
      if (caller) throw new PaymentError(edgeProblems.forbidden, 'The token does not carry the scope `operator`.');
    }
    throw new PaymentError(edgeProblems.unauthenticated, 'Operators sign in with a password or a token.', {
      headers: CHALLENGE,
    });
  }

  #passwordMatches(credentials: string): boolean {
    if (this.#passwordDigest === null) return false;
    const [name, ...rest] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
    const nameMatches = timingSafeEqual(digest(name ?? ''), digest(OPERATOR_NAME));
    // Digests have one length, so neither the comparison nor its time tells anything of the password.
    const passwordMatches = timingSafeEqual(digest(rest.join(':')), this.#passwordDigest);
    return nameMatches && passwordMatches;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
