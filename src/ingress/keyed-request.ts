import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, exchangeOf } from './exchange';
import type { KeyedRequest } from './idempotency';

/** The scope of an idempotency key: caller, method and path (contract 8). */
export interface KeyScope {
  /** The caller's subject. */
  readonly caller: string;
  readonly method: string;
  /** As {@link canonicalPath} writes it. */
  readonly path: string;
  readonly key: string;
}

/** Each field goes in with its length before it, so that no two lists of fields are the same text. */
function digest(fields: readonly string[]): Buffer {
  let text = '';
  for (const field of fields) text += `${field.length}:${field}`;
  return hash('sha256', text, 'buffer');
}

export function scopeHashOf({ caller, method, path, key }: KeyScope): Buffer {
  return digest([caller, method, path, key]);
}

/**
 * SHA-256 of method, path and the canonical body (RFC 8785): neither the order of members, white space nor the
 * spelling of a number makes another payload.
 */
export function payloadHashOf(method: string, path: string, body: unknown): Buffer {
  return digest([method, path, canonicalize(body) ?? '']);
}

/**
 * The route's pattern with the decoded parameters in it. The path as written would not do: `/v1/%61uthorizations`
 * is routed alike, and the same key must not act a second time under another spelling.
 */
export function canonicalPath(request: FastifyRequest): string {
  const pattern = exchangeOf(request).route ?? '';
  if (!pattern.includes(':')) return pattern;
  const params = request.params as Readonly<Record<string, string>>;
  return pattern.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

/** A POST under an idempotency key, as the coordinator and the lane's SQL take it. For routes that demand the key. */
export function keyedRequestOf(request: FastifyRequest): KeyedRequest {
  const { idempotencyKey } = exchangeOf(request);
  if (idempotencyKey === null) throw new Error(`${request.method} ${request.url} does not demand an idempotency key`);
  const { method } = request;
  const path = canonicalPath(request);
  return {
    scopeHash: scopeHashOf({ caller: callerOf(request).subject, method, path, key: idempotencyKey }),
    payloadHash: payloadHashOf(method, path, request.body),
  };
}

/** Marks an answer that an earlier request under the key was given already. */
export function markReplayed(reply: FastifyReply, replayed: boolean): void {
  if (replayed) reply.header('Idempotency-Replayed', 'true');
}
