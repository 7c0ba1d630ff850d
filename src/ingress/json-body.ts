import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PaymentError, type RequestFault } from '../shared/problem';
import { edgeProblems } from './problems';
import { validationError } from './validation';

const UTF8_CHARSETS = new Set(['utf-8', 'utf8', 'us-ascii']);

function unsupported(detail: string): PaymentError {
  return new PaymentError(edgeProblems.unsupportedMediaType, detail, { headers: { accept: 'application/json' } });
}

function malformed(detail: string): PaymentError {
  return new PaymentError(edgeProblems.malformedJson, detail);
}

/** What Fastify's choice of a parser does not look at: 415, or null. */
function mediaTypeFault(request: FastifyRequest): PaymentError | null {
  const { 'content-encoding': encoding, 'content-type': contentType = '' } = request.headers;
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return unsupported('Bodies are read as they are: no `Content-Encoding`.');
  }
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(contentType)?.[1];
  if (charset === undefined || UTF8_CHARSETS.has(charset.toLowerCase())) return null;
  return unsupported('JSON is read in UTF-8 (RFC 8259).');
}

/**
 * Strings with half a surrogate pair have no canonical form (RFC 8785) and no place in the database: told by
 * pointer. UTF-8 cannot hold one, so they come from `\u` escapes only.
 */
function loneSurrogates(value: unknown): RequestFault[] {
  const faults: RequestFault[] = [];
  const detail = 'Must be well-formed Unicode';
  const rest: { value: unknown; pointer: string }[] = [{ value, pointer: '' }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next.value === 'string' && !next.value.isWellFormed()) faults.push({ pointer: next.pointer, detail });
    if (typeof next.value !== 'object' || next.value === null) continue;
    for (const [key, member] of Object.entries(next.value)) {
      const pointer = `${next.pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (key.isWellFormed()) rest.push({ value: member, pointer });
      else faults.push({ pointer: next.pointer, detail: 'A member name must be well-formed Unicode' });
    }
  }
  return faults;
}

/**
 * Leaves `application/json` as the only type of body that is read, strictly: UTF-8, no empty body, nothing that
 * would reach a prototype. Everything else is 415.
 */
export function installJsonBody(fastify: FastifyInstance): void {
  const parse = fastify.getDefaultJsonParser('error', 'error') as (
    request: FastifyRequest,
    body: string,
    done: (error: Error | null, body?: unknown) => void,
  ) => void;
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    const fault = mediaTypeFault(request);
    if (fault !== null) return done(fault);
    if (!isUtf8(bytes)) return done(malformed('The body is not UTF-8.'));
    const text = bytes.toString('utf8');
    if (text === '') return done(malformed('The body is empty.'));
    parse(request, text, (error, value) => {
      if (error !== null) return done(malformed('The body is not JSON, or has a member that would reach a prototype.'));
      const faults = text.includes('\\u') ? loneSurrogates(value) : [];
      done(faults.length > 0 ? validationError(faults) : null, value);
    });
  });
}
