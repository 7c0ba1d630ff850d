import type { ProblemKind } from '../shared/problem';

/** Every failure that the edge itself answers with, whatever the lane (contract 7 and 8). */
export const edgeProblems = {
  validation: { code: 'ERR_VALIDATION', status: 400, title: 'The request is not valid' },
  malformedJson: { code: 'ERR_MALFORMED_JSON', status: 400, title: 'The body is not JSON' },
  malformedRequest: { code: 'ERR_MALFORMED_REQUEST', status: 400, title: 'The request is not well-formed HTTP' },
  backoffHeadersRequired: {
    code: 'ERR_BACKOFF_HEADERS_REQUIRED',
    status: 400,
    title: 'A header that makes retries safe is missing',
  },
  unauthenticated: { code: 'ERR_UNAUTHENTICATED', status: 401, title: 'The caller is not known' },
  forbidden: { code: 'ERR_FORBIDDEN', status: 403, title: 'The caller may not do this' },
  notFound: { code: 'ERR_NOT_FOUND', status: 404, title: 'There is nothing here' },
  methodNotAllowed: { code: 'ERR_METHOD_NOT_ALLOWED', status: 405, title: 'The path does not have this method' },
  requestTimeout: { code: 'ERR_REQUEST_TIMEOUT', status: 408, title: 'The request did not arrive in time' },
  idempotencyInFlight: {
    code: 'ERR_IDEMPOTENCY_IN_FLIGHT',
    status: 409,
    title: 'A request under this key is still running',
    retryAfterSeconds: 1,
  },
  payloadTooLarge: { code: 'ERR_PAYLOAD_TOO_LARGE', status: 413, title: 'The body is too large' },
  unsupportedMediaType: {
    code: 'ERR_UNSUPPORTED_MEDIA_TYPE',
    status: 415,
    title: 'The body is of a type that is not read here',
  },
  expectationFailed: { code: 'ERR_EXPECTATION_FAILED', status: 417, title: 'The expectation cannot be met' },
  idempotencyKeyReused: {
    code: 'ERR_IDEMPOTENCY_KEY_REUSED',
    status: 422,
    title: 'The idempotency key stands for another request',
  },
  retryStormBlocked: {
    code: 'ERR_RETRY_STORM_BLOCKED',
    status: 429,
    title: 'Too many retries',
    retryAfterSeconds: 5,
  },
  headersTooLarge: { code: 'ERR_HEADERS_TOO_LARGE', status: 431, title: 'The headers are too large' },
  internal: { code: 'ERR_INTERNAL', status: 500, title: 'Something went wrong here' },
  transferCodingUnknown: {
    code: 'ERR_TRANSFER_CODING_UNKNOWN',
    status: 501,
    title: 'The body is sent in a way that is not read here',
  },
  unavailable: { code: 'ERR_UNAVAILABLE', status: 503, title: 'Not available at the moment', retryAfterSeconds: 5 },
  draining: { code: 'ERR_DRAINING', status: 503, title: 'This process is shutting down', retryAfterSeconds: 5 },
  executionTimeout: {
    code: 'ERR_EXECUTION_TIMEOUT',
    status: 504,
    title: 'The work did not end in time',
    retryAfterSeconds: 5,
  },
} as const satisfies Record<string, ProblemKind>;
