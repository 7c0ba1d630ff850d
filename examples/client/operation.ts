import { type Authorization, type FoundByKey } from './authorization';
import { type Clock } from './clock';
import { OutcomeUnknownError, PaymentRefusedError } from './errors';
import { exchange, type Fetch, type HttpAnswer, type NoAnswer } from './http';
import { judge, noAnswerProblem, waitMs } from './retry-rules';
import { type Problem } from './problem';

/** What all operations of a client share. */
export interface Tools {
  baseUrl: string;
  token: () => string | Promise<string>;
  fetch: Fetch;
  clock: Clock;
  random: () => number;
  attemptMsMax: number;
}

export interface OperationOptions {
  key: string;
  deadlineMs: number;
  signal: AbortSignal | undefined;
}

export interface OperationRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
  retriesMax: number;
  /** False: after an unknown outcome the same key is sent again, which answers or joins what the first one did. */
  lookUp: boolean;
}

/** The deadline ends a look-up long before this does; it is for a clock that stands still. */
const LOOK_UPS_MAX = 50;
/** A request with less time left than this is not sent: it would turn a plain refusal into an unknown outcome. */
const ATTEMPT_MS_MIN = 500;

/** One business operation from its first attempt to its end, with every wait and look-up between. */
export class Operation {
  private attempts = 0;
  /** True once a request may have been carried out without our knowing: from then on nothing may be called refused. */
  private mayBeDone = false;
  private readonly deadlineAtMs: number;

  constructor(
    private readonly tools: Tools,
    private readonly options: OperationOptions,
  ) {
    this.deadlineAtMs = tools.clock.nowMs() + options.deadlineMs;
  }

  async run(request: OperationRequest): Promise<unknown> {
    try {
      return await this.attemptAll(request);
    } catch (error) {
      if (!this.mayBeDone) throw error;
      throw new OutcomeUnknownError(this.options.key, this.attempts, error);
    }
  }

  /** One question about the key. Null: it could not be answered now; `answer` says why. */
  async lookUpOnce(): Promise<{ found: FoundByKey | null; answer: HttpAnswer | NoAnswer }> {
    const path = `/v1/authorizations?idempotency_key=${encodeURIComponent(this.options.key)}`;
    const answer = await this.send({ method: 'GET', path }, {});
    return { found: foundBy(answer), answer };
  }

  private async attemptAll(request: OperationRequest): Promise<unknown> {
    for (let attempt = 0; ; attempt += 1) {
      const isPost = request.method === 'POST';
      const headers = isPost ? postHeaders(this.options.key, attempt, request.headers) : { ...request.headers };
      this.attempts += 1;
      const answer = await this.send(request, headers);
      const problem = problemOf(answer);
      if (answer.status !== null && problem === null) return answer.body;
      const refusal = problem ?? noAnswerProblem;
      const verdict = answer.status === null ? 'unknown' : judge(answer.status, refusal.code);
      if (isPost && (verdict === 'unknown' || verdict === 'failed')) {
        const found = await this.findOut(answer, request.lookUp);
        if (found !== null) return found;
      }
      if (verdict === 'refused' || verdict === 'failed') {
        throw new PaymentRefusedError(refusal, this.attempts, 'not_retryable');
      }
      if (attempt >= request.retriesMax) throw new PaymentRefusedError(refusal, this.attempts, 'retries_exhausted');
      await this.pause(answer);
    }
  }

  /** After an unknown outcome: the operation's answer if it was done, else null. */
  private async findOut(answer: HttpAnswer | NoAnswer, lookUp: boolean): Promise<Authorization | null> {
    const mayBeDoneBefore = this.mayBeDone;
    this.mayBeDone = true;
    if (!lookUp) return null;
    const found = await this.lookUpUntilKnown();
    if (found !== null) return found;
    // The platform itself answered 500 or 504, so the request is no longer on its way and "absent" is final. One that
    // was lost, or whose answer a proxy lost (502), might still arrive.
    if (answer.status !== null && answer.status !== 502) this.mayBeDone = mayBeDoneBefore;
    return null;
  }

  private async lookUpUntilKnown(): Promise<Authorization | null> {
    for (let looks = 0; looks < LOOK_UPS_MAX; looks += 1) {
      const { found, answer } = await this.lookUpOnce();
      if (found?.state === 'done') return found.authorization;
      if (found?.state === 'absent') return null;
      if (found === null && answer.status !== null) {
        const problem = problemOf(answer) ?? noAnswerProblem;
        if (judge(answer.status, problem.code) === 'refused') {
          throw new PaymentRefusedError(problem, this.attempts, 'not_retryable');
        }
      }
      await this.pause(answer);
    }
    throw new Error(`no answer after ${LOOK_UPS_MAX} look-ups`);
  }

  /** Waits as the answer asks; gives up at once where too little time would be left for the next request. */
  private async pause(answer: HttpAnswer | NoAnswer): Promise<void> {
    const problem = problemOf(answer) ?? noAnswerProblem;
    const retryAfter = answer.status === null ? null : answer.headers.get('retry-after');
    const durationMs = waitMs(problem, retryAfter, this.tools.random);
    const leftMs = this.deadlineAtMs - this.tools.clock.nowMs();
    if (durationMs === null || durationMs + ATTEMPT_MS_MIN > leftMs) {
      throw new PaymentRefusedError(problem, this.attempts, 'deadline');
    }
    await this.tools.clock.sleep(durationMs, this.options.signal);
  }

  private async send(
    request: Pick<OperationRequest, 'method' | 'path' | 'body'>,
    headers: Readonly<Record<string, string>>,
  ): Promise<HttpAnswer | NoAnswer> {
    const { tools, options } = this;
    const authorization = `Bearer ${await tools.token()}`;
    options.signal?.throwIfAborted();
    const limitMs = Math.min(tools.attemptMsMax, Math.max(0, this.deadlineAtMs - tools.clock.nowMs()));
    const answer = await exchange(
      tools.fetch,
      `${tools.baseUrl}${request.path}`,
      {
        method: request.method,
        headers: { ...headers, authorization },
        ...(request.body === undefined ? {} : { body: request.body }),
      },
      limitMs,
      options.signal,
    );
    if (answer.status === null && options.signal?.aborted === true) {
      // The caller has lost interest; whether the platform did the work is another matter.
      if (request.method === 'POST') this.mayBeDone = true;
      options.signal.throwIfAborted();
    }
    return answer;
  }
}

function postHeaders(
  key: string,
  attempt: number,
  headers: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...headers,
    'idempotency-key': key,
    'retry-attempt': String(attempt),
  };
}

function foundBy(answer: HttpAnswer | NoAnswer): FoundByKey | null {
  if (answer.status === 200) return { state: 'done', authorization: answer.body as Authorization };
  const code = problemOf(answer)?.code;
  // A 404 of anything but the platform (a wrong path, a proxy) says nothing about the key.
  if (answer.status === 404 && code === 'ERR_NOT_FOUND') return { state: 'absent' };
  if (answer.status === 409 && code === 'ERR_IDEMPOTENCY_IN_FLIGHT') return { state: 'in_flight' };
  return null;
}

function problemOf(answer: HttpAnswer | NoAnswer): Problem | null {
  return answer.status === null ? null : answer.problem;
}
