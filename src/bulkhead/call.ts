import { DeadlineNode } from './deadline-list';
import { BulkheadRefusedError } from './errors';
import type { RefusalReason } from './errors';

/** What the work may know of its execution. */
export interface Execution {
  /**
   * Fires at the execution limit, with an ExecutionTimeoutError, or when the caller goes and the entry was made with
   * `abortWhenAbandoned`. Made when first read, already aborted if it has fired by then.
   */
  readonly signal: AbortSignal;
  readonly queueWaitMs: number;
}

/** What the caller holds. */
export interface Entry<T> {
  /**
   * The work's own outcome; or a BulkheadRefusedError (the work never began), or an ExecutionTimeoutError (it began
   * and may still run).
   */
  readonly result: Promise<T>;
  /** The caller has gone: nobody needs to listen to `result` from here on. */
  abandon(): void;
}

export type Work = (execution: Execution) => unknown;

/** `granted`: holds a permit, work not begun. `zombie`: past the limit, work not ended. */
export type CallPhase = 'waiting' | 'granted' | 'running' | 'zombie' | 'ended';

/** What a call tells its bulkhead. Nothing of this throws. */
export interface CallHost {
  readonly name: string;
  /** The caller went before the work began. */
  callWithdrawn(call: Call): void;
  /** The caller went while the work was running within its limit; told once. */
  callAbandoned(call: Call): void;
  /** The work has ended, and with it its claim to the permit; told once for each work that began. */
  callEnded(call: Call): void;
}

const ignore = (): void => {};

/** Whatever is chained to it runs in the next microtask. Cheaper than `queueMicrotask`, which tracks each callback. */
const nextMicrotask = Promise.resolve();

/**
 * One call: waiter, execution and zombie in turn, each time a member of the list for that phase. The two sides'
 * views of it, {@link Entry} and {@link Execution}, are this same object, so that a call costs one allocation
 * besides its promise.
 */
export class Call extends DeadlineNode<Call> implements Execution, Entry<unknown> {
  phase: CallPhase = 'waiting';
  queueWaitMs = 0;
  grantedAtMs = 0;
  readonly background: boolean;
  readonly result: Promise<unknown>;
  readonly #host: CallHost;
  readonly #abortWhenAbandoned: boolean;
  #work: Work | null;
  #resolve: (value: unknown) => void = ignore;
  #reject: (error: unknown) => void = ignore;
  #abandoned = false;
  #controller: AbortController | null = null;
  #abortReason: Error | null = null;

  constructor(host: CallHost, work: Work, options: { background: boolean; abortWhenAbandoned: boolean }) {
    super();
    this.#host = host;
    this.#work = work;
    this.background = options.background;
    this.#abortWhenAbandoned = options.abortWhenAbandoned;
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get abandoned(): boolean {
    return this.#abandoned;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#abortReason !== null) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  /** Answers a call whose work has not begun, and never will. */
  refuse(reason: RefusalReason): void {
    this.#reject(this.#endUnbegun(reason));
  }

  /**
   * The same for a call that nobody can be listening to yet, because `enter` has not returned. Node notes a promise
   * that is rejected without a listener, and strikes it out when one comes, which was nearly half of what a refusal
   * cost; a microtask later the caller listens. One that does not is still an unhandled rejection.
   */
  refuseSoon(reason: RefusalReason): void {
    const error = this.#endUnbegun(reason);
    void nextMicrotask.then(() => this.#reject(error));
  }

  /**
   * Runs the work. Whatever it does (throw before its first await, return a plain value, a thenable that settles
   * twice, reject) `await` settles once, so the bulkhead hears of the end exactly once.
   */
  async start(): Promise<void> {
    const work = this.#work as Work;
    this.#work = null;
    try {
      this.#resolve(await work(this));
    } catch (error) {
      this.#reject(error);
    }
    this.#host.callEnded(this);
  }

  /** The limit has come: the caller is answered now, and the work is told to stop. */
  timeOut(error: Error): void {
    this.#reject(error);
    this.#abort(error);
  }

  abandon(): void {
    if (this.#abandoned) return;
    this.#abandoned = true;
    // Nobody may be listening any more: what comes must not end the process as an unhandled rejection.
    this.result.catch(ignore);
    if (this.phase === 'waiting' || this.phase === 'granted') this.#host.callWithdrawn(this);
    else if (this.phase === 'running') {
      this.#host.callAbandoned(this);
      if (this.#abortWhenAbandoned) this.#abort(new BulkheadRefusedError(this.#host.name, 'client_abort'));
    }
  }

  #endUnbegun(reason: RefusalReason): BulkheadRefusedError {
    this.phase = 'ended';
    this.#work = null;
    return new BulkheadRefusedError(this.#host.name, reason);
  }

  /** Last in whatever calls it: listeners run at once and may call back into the bulkhead. */
  #abort(reason: Error): void {
    if (this.#abortReason !== null) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
  }
}
