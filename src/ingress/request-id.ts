import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export const REQUEST_ID_HEADER = 'X-Request-Id';

const ACCEPTABLE = /^[A-Za-z0-9._-]{1,128}$/;

/** 72 random bits name the process, a counter the request: as unique as random ids, at none of their cost. */
const PROCESS_ID = randomBytes(9).toString('base64url');
let requests = 0;

/** The sender's `X-Request-Id` where it is harmless in a header and a log line, else a fresh one. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id'];
  if (typeof given === 'string' && ACCEPTABLE.test(given)) return given;
  requests += 1;
  return `${PROCESS_ID}.${requests.toString(36)}`;
}
