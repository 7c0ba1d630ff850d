import { ConnectionPool } from './http/connection-pool';
import { type Outcome, type UnknownReason } from './http/exchange';
import { type RequestDraft } from './payloads';
import { planLimits, type TargetPlan } from './plan';
import { mayRetry, readProblem, type ReadProblem } from './problem';
import { type TargetResult } from './result';
import { RetryQueue } from './retry-queue';
import { schedule } from './schedule';
import { TargetTally } from './target-tally';
import { type SecondCell } from './time-series';

/** What a caller of the generator is told of each answer; warm-up included, since its effects are in the system too. */
export interface AnswerEvent {
  target: string;
  key: string;
  /** 0 for the first try. */
  attempt: number;
  status: number;
  /** The problem code; null for a success. */
  code: string | null;
  latencyMs: number;
  /** From the actual send time. */
  serviceMs: number;
  /** Null for a success whose body was not asked for. */
  body: string | null;
  measured: boolean;
}

export interface UnknownEvent {
  target: string;
  key: string;
  attempt: number;
  reason: UnknownReason;
  measured: boolean;
}

/** Called on the generator's own event loop: whatever they take makes requests late. */
export interface LoadHooks {
  onAnswer?: (event: AnswerEvent) => void;
  onUnknown?: (event: UnknownEvent) => void;
}

export interface RunnerOptions {
  warmupS: number;
  hooks: LoadHooks;
  nowMs: () => number;
  /** Uniform in 0 … 1, for the jitter of retries. */
  random: () => number;
}

interface Attempt {
  draft: RequestDraft;
  attempt: number;
  /** On the runner's clock, which is 0 at the start of warm-up. */
  dueMs: number;
  measured: boolean;
}

/** A turn sends at most so many, so that answers are read between the turns of a generator that has to catch up. */
const SENDS_PER_TURN_MAX = 200;

/** Sends what one target's schedule asks for when it is due, whatever became of the requests before. */
export class TargetRunner {
  private readonly pool: ConnectionPool;
  private readonly tally = new TargetTally();
  private readonly dueTimes: Iterator<number, void>;
  private readonly retriesWaiting = new RetryQueue<Attempt>(planLimits.retriesWaitingMax);
  private readonly requestHead: string;
  private readonly path: string;
  private nextDueMs: number | null;
  private index = 0;
  private startMs = 0;
  private stopped = false;

  constructor(
    private readonly plan: TargetPlan,
    private readonly options: RunnerOptions,
  ) {
    const url = new URL(plan.url);
    const port = url.port === '' ? 80 : Number(url.port);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    this.pool = new ConnectionPool({ ...plan, host, port, nowMs: options.nowMs });
    const headers = Object.entries(plan.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.requestHead = ` HTTP/1.1\r\nHost: ${url.host}\r\n${headers.join('')}`;
    this.path = `${url.pathname}${url.search}`;
    const first = plan.stages[0];
    const warmup = options.warmupS > 0 && first !== undefined ? [{ durationS: options.warmupS, rate: first.rate }] : [];
    this.dueTimes = schedule([...warmup, ...plan.stages]);
    this.nextDueMs = this.dueTimes.next().value ?? null;
  }

  open(): Promise<void> {
    return this.pool.open();
  }

  close(): Promise<void> {
    return this.pool.close();
  }

  start(startMs: number): void {
    this.startMs = startMs;
  }

  /** No new requests and no retries; those under way go on. */
  stop(): void {
    this.stopped = true;
    this.nextDueMs = null;
    for (const waiting of this.retriesWaiting.clear()) this.endOperation(waiting, false);
  }

  get finished(): boolean {
    return this.nextDueMs === null && this.retriesWaiting.size === 0 && this.pool.inFlight === 0;
  }

  /** Sends what is due, in the order in which it was due; returns when the next one is, or null. */
  sendDue(nowMs: number): number | null {
    for (let sends = 0; sends < SENDS_PER_TURN_MAX; sends += 1) {
      const retryDueMs = this.retriesWaiting.nextDueMs;
      const dueMs = earlier(this.nextDueMs, retryDueMs);
      if (dueMs === null || dueMs > nowMs - this.startMs) break;
      const attempt = dueMs === retryDueMs ? this.retriesWaiting.take() : this.nextOperation(dueMs);
      if (attempt !== null) this.send(attempt);
    }
    const dueMs = earlier(this.nextDueMs, this.retriesWaiting.nextDueMs);
    return dueMs === null ? null : this.startMs + dueMs;
  }

  finish(durationS: number): TargetResult {
    return this.tally.finish(this.plan.name, this.plan.url, durationS);
  }

  private nextOperation(dueMs: number): Attempt {
    const draft = this.plan.payload(this.index);
    this.index += 1;
    this.nextDueMs = this.dueTimes.next().value ?? null;
    // A due time that should be the end of warm-up may differ from it by a rounding error.
    return { draft, attempt: 0, dueMs, measured: dueMs >= this.options.warmupS * 1_000 - 1e-6 };
  }

  private send(attempt: Attempt): void {
    const sentMs = this.options.nowMs() - this.startMs;
    const dueInSeries = attempt.dueMs - this.options.warmupS * 1_000;
    const cell = attempt.measured ? this.tally.started(attempt.attempt, dueInSeries, sentMs - attempt.dueMs) : null;
    const taken = this.pool.send(this.requestText(attempt), {
      wantsBody: (status) => status >= 300 || this.plan.collectBodies,
      settle: (outcome) => this.settle(attempt, cell, sentMs, outcome),
    });
    if (taken) {
      if (cell !== null) this.tally.sent();
      return;
    }
    if (cell !== null) this.tally.refusedByOverflow(cell);
    this.endOperation(attempt, false);
  }

  private requestText({ draft, attempt }: Attempt): string {
    const line = `${this.plan.method} ${draft.path ?? this.path}${this.requestHead}`;
    if (this.plan.method === 'GET') return `${line}\r\n`;
    const length = Buffer.byteLength(draft.body);
    const key = this.plan.keys ? `Idempotency-Key: ${draft.key}\r\nRetry-Attempt: ${attempt}\r\n` : '';
    return `${line}${key}Content-Length: ${length}\r\n\r\n${draft.body}`;
  }

  private settle(attempt: Attempt, cell: SecondCell | null, sentMs: number, outcome: Outcome): void {
    const endMs = this.options.nowMs() - this.startMs;
    const shared = {
      target: this.plan.name,
      key: attempt.draft.key,
      attempt: attempt.attempt,
      measured: attempt.measured,
    };
    switch (outcome.kind) {
      case 'not_sent':
        if (cell !== null) this.tally.connectionFailed(cell);
        this.endOperation(attempt, false);
        return;
      case 'unknown':
        if (cell !== null) this.tally.outcomeUnknown(cell, outcome.reason);
        this.endOperation(attempt, false);
        this.options.hooks.onUnknown?.({ ...shared, reason: outcome.reason });
        return;
      case 'answered': {
        const { status, body, retryAfterS } = outcome;
        const latencyMs = endMs - attempt.dueMs;
        const serviceMs = endMs - sentMs;
        const problem = status < 300 ? null : readProblem(body);
        const code = problem?.code ?? null;
        if (cell !== null) this.tally.gotAnswer(cell, status, code, { latencyMs, serviceMs });
        const waits = problem !== null && this.retryLater(attempt, endMs, status, retryAfterS, problem);
        if (!waits) this.endOperation(attempt, status < 300);
        this.options.hooks.onAnswer?.({ ...shared, status, code, latencyMs, serviceMs, body });
      }
    }
  }

  /** True: the operation goes on with another attempt, as a caller that obeys the answer would make it. */
  private retryLater(
    attempt: Attempt,
    nowMs: number,
    status: number,
    retryAfterS: number | null,
    problem: ReadProblem,
  ): boolean {
    if (!this.plan.retries || this.stopped || attempt.attempt >= planLimits.retriesMax) return false;
    if (retryAfterS === null || retryAfterS > planLimits.retryAfterSMax || !mayRetry(status, problem.code))
      return false;
    const waitS = retryAfterS + this.options.random() * problem.jitterS;
    return this.retriesWaiting.add({ ...attempt, attempt: attempt.attempt + 1, dueMs: nowMs + waitS * 1_000 });
  }

  private endOperation(attempt: Attempt, succeeded: boolean): void {
    if (attempt.measured) this.tally.operationEnded(attempt.attempt, succeeded);
  }
}

function earlier(left: number | null, right: number | null): number | null {
  if (left === null || right === null) return left ?? right;
  return Math.min(left, right);
}
