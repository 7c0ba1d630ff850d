/** What the generator reads of a problem body (contract 7). */
export interface ReadProblem {
  code: string;
  jitterS: number;
}

const JITTER_S_MAX = 60;
const CODE = /^[A-Z0-9_]{1,64}$/;

/** Never throws: an answer that is no problem document has the code `NO_PROBLEM`. */
export function readProblem(body: string | null): ReadProblem {
  const problem = parse(body);
  const code = typeof problem['code'] === 'string' && CODE.test(problem['code']) ? problem['code'] : 'NO_PROBLEM';
  const retry = isRecord(problem['retry']) ? problem['retry'] : {};
  const jitter = retry['jitter_seconds'];
  const jitterS = typeof jitter === 'number' && jitter >= 0 ? Math.min(jitter, JITTER_S_MAX) : 0;
  return { code, jitterS };
}

/** Refusals after which the same request may be sent again, provided that the answer says when (contract 7, 8). */
export function mayRetry(status: number, code: string): boolean {
  if (status === 409) return code === 'ERR_IDEMPOTENCY_IN_FLIGHT';
  return status === 408 || status === 425 || status === 429 || status === 503;
}

function parse(body: string | null): Record<string, unknown> {
  if (body === null || !body.startsWith('{')) return {};
  try {
    const value: unknown = JSON.parse(body);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
