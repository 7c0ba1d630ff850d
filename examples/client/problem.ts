/** An answer that is not a success: RFC 9457 `application/problem+json`, the same shape on every path. */
export interface Problem {
  /** `urn:payment-core:problem:…` */
  type: string;
  title: string;
  status: number;
  detail?: string;
  /** What to decide by; texts may change, codes do not. */
  code: string;
  lane?: string;
  /** Quote it when you report a fault. */
  request_id?: string;
  /** Present where a retry makes sense. */
  retry?: { after_seconds: number; max_attempts: number; jitter_seconds: number };
  /** With `ERR_VALIDATION`: every fault of the body. */
  errors?: { pointer: string; detail: string }[];
  /** Members of single codes, such as `compensation` of the tax lane. */
  [member: string]: unknown;
}

/** What something on the way (a proxy, a load balancer) answered with a body of its own. */
export const NO_PROBLEM_CODE = 'NO_PROBLEM_DOCUMENT';

/** Never throws: callers decide by status and code even where the body is not what was promised. */
export function toProblem(status: number, body: unknown): Problem {
  if (!isRecord(body) || typeof body['code'] !== 'string') {
    return { type: 'about:blank', title: `HTTP ${status}`, status, code: NO_PROBLEM_CODE };
  }
  const { retry, type, title, code, ...members } = body;
  const checkedRetry = toRetry(retry);
  return {
    ...members,
    type: typeof type === 'string' ? type : 'about:blank',
    title: typeof title === 'string' ? title : code,
    status,
    code,
    ...(checkedRetry === null ? {} : { retry: checkedRetry }),
  };
}

function toRetry(retry: unknown): NonNullable<Problem['retry']> | null {
  if (!isRecord(retry)) return null;
  const { after_seconds, max_attempts, jitter_seconds } = retry;
  if (!isCount(after_seconds) || !isCount(max_attempts) || !isCount(jitter_seconds)) return null;
  return { after_seconds, max_attempts, jitter_seconds };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
