import type { FastifyRequest, FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import { PaymentError, type RequestFault } from '../shared/problem';
import { edgeProblems } from './problems';

/** Faults told of in one answer; beyond it only their number (a body of unknown members must not be mirrored whole). */
export const FAULTS_MAX = 100;
/** Names are the sender's: without a bound, nesting would make an answer many times as large as its request. */
const POINTER_CHARACTERS_MAX = 256;

type RequestPart = 'body' | 'params' | 'querystring';

/** Where the faults of each part of a request point (contract 7): into the body, or under a prefix. */
const POINTER_PREFIX: Readonly<Record<RequestPart, string>> = { body: '', params: '/params', querystring: '/query' };

/** One segment of a JSON Pointer (RFC 6901). */
function segment(key: PropertyKey): string {
  return `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

export function pointerOf(path: readonly PropertyKey[]): string {
  return path.map(segment).join('');
}

/** A pointer that is longer than any of the API is cut: an ellipsis says so, and no character is halved. */
function bounded(pointer: string): string {
  if (pointer.length <= POINTER_CHARACTERS_MAX) return pointer;
  return `${pointer.slice(0, POINTER_CHARACTERS_MAX - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Every fault with its own pointer; an unknown member is a fault of its own, not of the object around it. */
export function faultsOf(issues: readonly z.core.$ZodIssue[], prefix: string): RequestFault[] {
  return issues.flatMap((issue) => {
    const pointer = prefix + pointerOf(issue.path);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ pointer: pointer + segment(key), detail: 'Not a known member' }));
    }
    return [{ pointer, detail: issue.message }];
  });
}

export function validationError(faults: readonly RequestFault[]): PaymentError {
  const omitted = faults.length - FAULTS_MAX;
  const detail = faults.length === 1 ? 'The request has a fault.' : `The request has ${faults.length} faults.`;
  return new PaymentError(edgeProblems.validation, detail, {
    errors: faults.slice(0, FAULTS_MAX).map(({ pointer, detail }) => ({ pointer: bounded(pointer), detail })),
    ...(omitted > 0 && { members: { errors_omitted: omitted } }),
  });
}

/** What the compiler below refuses with; the filter makes the whole answer of it by {@link allFaultsOf}. */
export class InvalidPart extends Error {}

/**
 * Compiles a route's zod schemas for Fastify, so that a request that is not valid is refused before a permit is
 * taken (contract 4.2). A valid part is replaced by what the schema made of it.
 */
export const zodValidatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema }) => {
  return (data) => {
    const result = schema.safeParse(data);
    return result.success ? { value: result.data } : { error: new InvalidPart() };
  };
};

/**
 * Every fault of every part of a request that was found not valid. Fastify stops at the first part that fails, so
 * this looks at all of them again; a request that is valid never comes here. What is told of a value as it was
 * written is not told again of what was made of it.
 */
export function allFaultsOf(request: FastifyRequest): PaymentError {
  const schemas = request.routeOptions.schema as Partial<Record<RequestPart, z.ZodType>> | undefined;
  const values: Readonly<Record<RequestPart, unknown>> = {
    params: request.params,
    querystring: request.query,
    body: request.body ?? null,
  };
  const faults = (Object.keys(values) as RequestPart[]).flatMap((part) => {
    const result = schemas?.[part]?.safeParse(values[part]);
    return result === undefined || result.success ? [] : faultsOf(result.error.issues, POINTER_PREFIX[part]);
  });
  const written = request.exchange?.writtenFaults ?? [];
  const pointers = new Set(written.map(({ pointer }) => pointer));
  return validationError([...written, ...faults.filter(({ pointer }) => !pointers.has(pointer))]);
}
