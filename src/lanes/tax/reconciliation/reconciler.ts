import { type Bulkhead, BulkheadRefusedError, type Execution } from '../../../bulkhead/bulkhead';
import type { Clock, TimerHandle } from '../../../shared/clock';
import type { DueEstimate, EstimateRepository } from '../estimates/estimate.repository';
import type { TaxProvider } from '../provider/provider-client';
import { type FailureReason, ProviderFailure } from '../provider/provider-failure';
import type { Quote } from '../tax';

export interface ReconciliationLimits {
  /** Calls of the provider at once; the lane's background permits bound them as well. */
  readonly concurrency: number;
  readonly pollEveryMs: number;
  /** So long a process that was killed keeps an estimate from the others. */
  readonly leaseMs: number;
  /** After a call that the provider failed; doubled each time in a row, up to `backOffMsMax`. */
  readonly backOffMs: number;
  readonly backOffMsMax: number;
  /** After a permit was refused, or while the lane is not in its normal state: callers come first. */
  readonly refusedMs: number;
  /** Tries of an order that the provider refuses, or answers wrongly, before it is given up. */
  readonly attemptsMax: number;
}

export interface ReconcilerOptions {
  readonly estimates: Pick<EstimateRepository, 'takeDue' | 'settle' | 'postpone' | 'fail'>;
  readonly provider: TaxProvider;
  /** Whether its latest calls, callers' included, speak for the provider. Where they do not, no order is to blame. */
  readonly isProviderWell: () => boolean;
  readonly bulkhead: Pick<Bulkhead, 'enterBackground' | 'snapshot'>;
  readonly clock: Clock;
  readonly limits: ReconciliationLimits;
  readonly onReconciled: (due: DueEstimate, provider: Quote) => void;
  readonly onGivenUp: (due: DueEstimate) => void;
  readonly onFailed: (error: unknown) => void;
}

type RunResult = 'more' | 'idle' | 'blocked' | 'refused';

/** The provider is in trouble, and not the order: the next order would fare no better. */
const TROUBLES: ReadonlySet<FailureReason> = new Set(['late', 'unreachable', 'down', 'aborted']);

/**
 * Compares estimates with what the provider says of the same orders, when the lane has room for it (contract 10): each
 * call under a background permit, at most two, none from half of the permits in use, and none before the lane is NORMAL
 * again: what a brownout has left to compare must not be in the way of the recovery. A provider in trouble is left
 * alone for longer each time. The database knows what is due; whoever wakes this only makes it look sooner.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #running = new Set<Promise<void>>();
  #timer: TimerHandle | null = null;
  #dueAtMs = Infinity;
  #notBeforeMs = 0;
  #blockedInARow = 0;
  #stopped = false;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  start(): void {
    this.wake();
  }

  /** Looks for estimates that are due, unless the provider, or the lane, wants to be left alone. */
  wake(): void {
    const { clock } = this.#options;
    this.#schedule(Math.max(0, this.#notBeforeMs - clock.now()));
  }

  /** No call begins after this; those under way are waited for. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer !== null) this.#options.clock.cancel(this.#timer);
    this.#timer = null;
    await Promise.all(this.#running);
  }

  #schedule(delayMs: number): void {
    const { clock } = this.#options;
    if (this.#stopped) return;
    const dueAtMs = clock.now() + delayMs;
    if (this.#timer !== null) {
      if (this.#dueAtMs <= dueAtMs) return;
      clock.cancel(this.#timer);
    }
    this.#dueAtMs = dueAtMs;
    this.#timer = clock.schedule(() => {
      this.#timer = null;
      this.#fill();
    }, delayMs);
  }

  #fill(): void {
    // Set before a call failed that has been under way since.
    if (this.#notBeforeMs > this.#options.clock.now()) {
      this.#rest();
      return;
    }
    while (!this.#stopped && this.#running.size < this.#options.limits.concurrency) {
      const run = this.#chain().finally(() => {
        this.#running.delete(run);
        if (this.#running.size === 0) this.#rest();
      });
      this.#running.add(run);
    }
  }

  /** One order after the other, until there is none, or a reason to pause. */
  async #chain(): Promise<void> {
    for (let result: RunResult = 'more'; result === 'more' && !this.#stopped;) {
      result = await this.#runOnce();
      if (result === 'blocked' || result === 'refused') this.#pause(result);
      else if (this.#notBeforeMs > this.#options.clock.now()) return;
    }
  }

  #pause(why: 'blocked' | 'refused'): void {
    const { clock, limits } = this.#options;
    if (why === 'refused') {
      this.#notBeforeMs = Math.max(this.#notBeforeMs, clock.now() + limits.refusedMs);
      return;
    }
    const backOffMs = Math.min(limits.backOffMs * 2 ** this.#blockedInARow, limits.backOffMsMax);
    this.#blockedInARow += 1;
    this.#notBeforeMs = Math.max(this.#notBeforeMs, clock.now() + backOffMs);
  }

  #rest(): void {
    const { clock, limits } = this.#options;
    const pausedMs = this.#notBeforeMs - clock.now();
    this.#schedule(pausedMs > 0 ? pausedMs : limits.pollEveryMs);
  }

  async #runOnce(): Promise<RunResult> {
    if (this.#options.bulkhead.snapshot().state !== 'NORMAL') return 'refused';
    try {
      return await this.#options.bulkhead.enterBackground((execution) => this.#one(execution)).result;
    } catch (error) {
      if (error instanceof BulkheadRefusedError) return 'refused';
      this.#options.onFailed(error);
      return 'blocked';
    }
  }

  async #one({ signal }: Execution): Promise<RunResult> {
    const { estimates, provider, limits, onReconciled } = this.#options;
    const due = await estimates.takeDue(limits.leaseMs);
    if (due === null) return 'idle';
    let quote: Quote;
    try {
      // No connection is held here (contract 4.8): the lease keeps the estimate.
      quote = await provider.quote(due.request, signal);
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error;
      return this.#failed(due, error);
    }
    this.#blockedInARow = 0;
    if (await estimates.settle(due.id, quote)) onReconciled(due, quote);
    return 'more';
  }

  async #failed(due: DueEstimate, { reason }: ProviderFailure): Promise<RunResult> {
    const { estimates, limits, isProviderWell, onGivenUp } = this.#options;
    // A proxy's page with status 200, or an account that may order nothing, looks like an order that is at fault, and
    // within a minute every estimate of a brownout would be given up for it.
    if (TROUBLES.has(reason) || !isProviderWell()) {
      await estimates.postpone(due.id, reason, limits.backOffMs, false);
      return 'blocked';
    }
    if (due.attempts >= limits.attemptsMax) {
      await estimates.fail(due.id, reason);
      onGivenUp(due);
    } else {
      const delayMs = Math.min(limits.backOffMs * 2 ** due.attempts, limits.backOffMsMax);
      await estimates.postpone(due.id, reason, delayMs, true);
    }
    return 'more';
  }
}
