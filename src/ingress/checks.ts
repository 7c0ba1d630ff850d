import type { BodyGates } from './body-gates';
import { mayActFor } from './caller';
import type { AllowedMethods } from './allowed-methods';
import type { Draining } from './draining';
import { pathOf } from './exchange';
import type { TokenVerifier } from './identity';
import type { AdmissionCheck, AdmissionPlace, Check, HeadersPlace, Verdict, Visit } from './pipeline';
import { edgeProblems } from './problems';
import { isRepeated, readRetryHeaders, type RetryGuardMode } from './request-headers';
import { PaymentError } from '../shared/problem';
import type { RoutePolicy } from './route-policy';

export interface CheckServices {
  readonly draining: Draining;
  readonly allowedMethods: AllowedMethods;
  readonly tokens: Pick<TokenVerifier, 'verify'>;
  readonly retryGuard: RetryGuardMode;
  readonly bodyGates: BodyGates;
  /** Told of lane work that was refused because the process is draining. */
  readonly onDrainingRefusal: (lane: string) => void;
}

const CHALLENGE = { 'www-authenticate': 'Bearer' };
/** The scheme's name is case-insensitive (RFC 9110, 11.1). */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

function unauthenticated(detail: string): PaymentError {
  return new PaymentError(edgeProblems.unauthenticated, detail, { headers: CHALLENGE });
}

/** After the route check every visit has a policy: routes without one never come here. */
function policyOf({ exchange }: Pick<Visit, 'exchange'>): RoutePolicy {
  if (exchange.policy === null) throw new Error('A lane check was asked about a route of no lane');
  return exchange.policy;
}

function drainingCheck({ draining, onDrainingRefusal }: CheckServices): Check {
  return ({ exchange }) => {
    if (!draining.active) return null;
    if (exchange.policy !== null) onDrainingRefusal(exchange.policy.lane);
    return new PaymentError(edgeProblems.draining, 'This process takes no new work; send the request again.');
  };
}

function routeCheck({ allowedMethods }: CheckServices): Check {
  return ({ request }) => {
    if (!request.is404) return null;
    const methods = allowedMethods.of(request.url);
    if (methods.length === 0)
      return new PaymentError(edgeProblems.notFound, `Nothing is served at ${pathOf(request.url)}.`);
    return new PaymentError(edgeProblems.methodNotAllowed, `${pathOf(request.url)} has ${methods.join(', ')} only.`, {
      headers: { allow: methods.join(', ') },
    });
  };
}

function identityCheck({ tokens }: CheckServices): Check {
  return ({ request, exchange }) => {
    const { authorization } = request.headers;
    if (authorization === undefined) return unauthenticated('The request carries no `Authorization: Bearer` token.');
    if (isRepeated(request.raw, 'authorization')) return unauthenticated('`Authorization` was given more than once.');
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) return unauthenticated('`Authorization` is not of the form `Bearer <token>`.');
    const verified = tokens.verify(token);
    const accept = (caller: typeof exchange.caller): Verdict => {
      exchange.caller = caller;
      return caller === null ? unauthenticated('The token is not valid, or not valid any more.') : null;
    };
    return verified instanceof Promise ? verified.then(accept) : accept(verified);
  };
}

const scopeCheck: Check = (visit) => {
  const { scope } = policyOf(visit);
  if (visit.exchange.caller?.scopes.has(scope) === true) return null;
  return new PaymentError(edgeProblems.forbidden, `The token lacks the scope \`${scope}\`.`);
};

function retryHeadersCheck({ retryGuard }: CheckServices): Check {
  return (visit) => {
    const { request, exchange } = visit;
    const keyDemanded = policyOf(visit).idempotencyKey;
    const { idempotencyKey, declaredAttempt, retryAttemptGiven, faults } = readRetryHeaders(request.raw, keyDemanded);
    const missing: string[] = [];
    if (keyDemanded) {
      if (idempotencyKey === null) missing.push('Idempotency-Key');
      if (retryGuard === 'strict' && !retryAttemptGiven) missing.push('Retry-Attempt');
    }
    if (missing.length > 0) {
      const detail = `Send ${missing.map((name) => `\`${name}\``).join(' and ')}; nothing was processed.`;
      return new PaymentError(edgeProblems.backoffHeadersRequired, detail, {
        errors: missing.map((name) => ({ pointer: `/headers/${name.toLowerCase()}`, detail: 'Missing' })),
      });
    }
    if (faults.length > 0) {
      return new PaymentError(edgeProblems.validation, 'A header is not valid.', { errors: faults });
    }
    exchange.idempotencyKey = idempotencyKey;
    exchange.declaredAttempt = declaredAttempt;
    return null;
  };
}

export function tooLarge(bytesMax: number): PaymentError {
  return new PaymentError(edgeProblems.payloadTooLarge, `A body here has ${bytesMax} bytes at most.`, {
    members: { limit_bytes: bytesMax },
  });
}

const declaredLengthCheck: Check = (visit) => {
  const declared = visit.request.headers['content-length'];
  const { bodyBytesMax } = policyOf(visit);
  return declared !== undefined && Number(declared) > bodyBytesMax ? tooLarge(bodyBytesMax) : null;
};

/** 403 where the body names a merchant that the token does not (contract 4.1). */
const merchantCheck: AdmissionCheck = ({ request, exchange }) => {
  const member = exchange.policy?.merchantMember ?? null;
  if (member === null) return null;
  const merchantId = (request.body as Readonly<Record<string, unknown>> | undefined)?.[member];
  if (typeof merchantId !== 'string') return null;
  if (exchange.caller !== null && mayActFor(exchange.caller, merchantId)) return null;
  return new PaymentError(edgeProblems.forbidden, 'The token does not name this merchant.', {
    errors: [{ pointer: `/${member}`, detail: 'Not among the merchants of the token' }],
  });
};

/** What each place before the body checks. Exhaustive: a new place is a compile error here. */
export function headersChecks(services: CheckServices): Record<HeadersPlace, readonly Check[]> {
  return {
    draining: [drainingCheck(services)],
    route: [routeCheck(services)],
    identity: [identityCheck(services)],
    scope: [scopeCheck],
    retry_headers: [retryHeadersCheck(services)],
    retry_guard: [],
    declared_length: [declaredLengthCheck],
    ledger_bounds: [services.bodyGates.check],
  };
}

/** What each place between the valid body and the permit checks. */
export const admissionChecks: Readonly<Record<AdmissionPlace, readonly AdmissionCheck[]>> = {
  merchant: [merchantCheck],
  retry_guard_content: [],
};
