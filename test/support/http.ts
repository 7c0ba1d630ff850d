import { randomUUID } from 'node:crypto';

export interface Answer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
  text: string;
  elapsedMs: number;
}

export interface Demand {
  method?: string;
  bearer?: string;
  /** Sent as it is where it is a string, else as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Null sends none; left out, a fresh one goes with each POST. */
  idempotencyKey?: string | null;
  signal?: AbortSignal;
}

/** One request over real HTTP; any status is an answer. */
export async function send(url: string, demand: Demand = {}): Promise<Answer> {
  const { method = demand.body === undefined ? 'GET' : 'POST', bearer, body, signal } = demand;
  const headers = new Headers(demand.headers);
  if (bearer !== undefined) headers.set('Authorization', bearer);
  if (body !== undefined && !headers.has('Content-Type')) headers.set('Content-Type', 'application/json');
  const key = demand.idempotencyKey === undefined ? randomUUID() : demand.idempotencyKey;
  if (method === 'POST' && key !== null) headers.set('Idempotency-Key', key);
  const startedAt = performance.now();
  const response = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  const text = await response.text();
  const json = (response.headers.get('Content-Type') ?? '').includes('json');
  return {
    status: response.status,
    headers: response.headers,
    body: json && text !== '' ? (JSON.parse(text) as Record<string, unknown>) : {},
    text,
    elapsedMs: performance.now() - startedAt,
  };
}

/** Waits for something that must become true; fails with its name when it does not in time. */
export async function eventually(what: string, isTrue: () => Promise<boolean>, limitMs = 10_000): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`Not within ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What every answer that is not a success must be (contract 7). */
export function expectProblem(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body['code'] }).toEqual({ status, code });
  expect(answer.headers.get('Content-Type')).toMatch(/^application\/problem\+json/);
  expect(answer.body).toMatchObject({
    status,
    type: `urn:payment-core:problem:${code.toLowerCase().replaceAll('_', '-')}`,
    title: expect.stringMatching(/./),
    detail: expect.stringMatching(/./),
    request_id: answer.headers.get('X-Request-Id'),
  });
  const retry = answer.body['retry'] as { after_seconds: number; max_attempts: number } | undefined;
  const retryAfter = answer.headers.get('Retry-After');
  expect(retryAfter).toBe(retry === undefined ? null : String(retry.after_seconds));
  if (retry !== undefined) expect(retry.max_attempts).toBe(3);
}
