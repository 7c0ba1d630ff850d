import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PaymentError } from '../shared/problem';
import { exchangeOf } from './exchange';
import { scanJson } from './json-scan';
import { edgeProblems } from './problems';

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
 * Leaves `application/json` as the only type of body that is read, strictly: UTF-8, no empty body, nothing that
 * would reach a prototype. Everything else is 415. What is wrong with the text and not with its syntax is left in
 * the exchange, to be told together with what the schemas find.
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
    if (request.exchange?.policy?.bodyAsText === true) return done(null, text);
    parse(request, text, (error, value) => {
      if (error !== null) return done(malformed('The body is not JSON, or has a member that would reach a prototype.'));
      const exchange = exchangeOf(request);
      // Every number of a lane is an integer; pages of operators have rules of their own.
      exchange.writtenFaults = scanJson(text, exchange.policy !== null);
      done(null, value);
    });
  });
}
