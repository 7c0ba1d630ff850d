import type { FastifyInstance } from 'fastify';
import { sendProblem } from '../../ingress/render-problem';
import { PaymentError } from '../../shared/problem';
import type { OperatorAccess } from './operator-access';

/** Nothing from outside is loaded, whatever a page asks for, and no other site may frame these pages. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * For a Fastify scope of operators' pages: credentials are asked for before anything else is done for the request,
 * and pages work without a network.
 */
export function guardOperatorPages(scope: FastifyInstance, access: OperatorAccess): void {
  scope.addHook('onRequest', async (request, reply) => {
    reply.headers({
      'content-security-policy': PAGE_POLICY,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    try {
      await access.require(request);
    } catch (error) {
      if (!(error instanceof PaymentError)) throw error;
      sendProblem(reply, error);
      return reply;
    }
  });
}
