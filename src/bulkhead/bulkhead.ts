import type { Clock } from '../shared/clock';
import { Alarm } from './alarm';
import { Call } from './call';
import type { CallHost, Entry, Execution } from './call';
import { DeadlineList } from './deadline-list';
import { ExecutionTimeoutError } from './errors';
import type { RefusalReason } from './errors';
import { LaneStateMachine, laneStateThresholds } from './lane-state';
import { assertLimits } from './limits';
import type { BulkheadLimits } from './limits';
import { GuardedObserver } from './observer';
import type { BulkheadObserver } from './observer';
import { Permit } from './permit';
import type { PermitOwner } from './permit';
import type { BulkheadSnapshot } from './snapshot';
import { StartQueue } from './start-queue';
import { Zombies } from './zombies';

export { BulkheadRefusedError, ExecutionTimeoutError } from './errors';
export type { RefusalReason } from './errors';
export type { Entry, Execution } from './call';
export type { LaneState } from './lane-state';
export type { BulkheadLimits } from './limits';
export type { BulkheadObserver } from './observer';
export type { Permit } from './permit';
export type { BulkheadSnapshot } from './snapshot';

/**
 * The permits of one lane and the FIFO queue before them (contract 4 and 6). Checking and taking is one synchronous
 * step, so that in use never exceeds the permits; a permit that comes back goes to the head waiter in the same step.
 *
 * Each change is made in two parts: first the accounting, whole and without foreign code, then what runs foreign
 * code (observer, abort listeners, work). Whoever calls back from there finds figures that are true.
 * Members are protected for one purpose: tests plant faults in subclasses, which the property tests must catch.
 */
export class Bulkhead {
  protected readonly limits: Readonly<BulkheadLimits>;
  protected readonly clock: Clock;
  protected readonly observer: GuardedObserver;
  protected readonly waiters: DeadlineList<Call>;
  protected readonly executions: DeadlineList<Call>;
  protected readonly zombies: Zombies;
  protected readonly toStart = new StartQueue((call) => this.start(call));
  protected inUse = 0;
  protected backgroundInUse = 0;
  private readonly state: LaneStateMachine;
  private readonly alarm: Alarm;
  private readonly callHost: CallHost;
  private readonly permitOwner: PermitOwner;
  private releaseViolations = 0;
  private drained: PromiseWithResolvers<void> | null = null;
  private closed = false;

  /** Throws a RangeError where a limit makes no sense. */
  constructor(limits: BulkheadLimits, clock: Clock, observer: BulkheadObserver = {}) {
    assertLimits(limits);
    this.limits = { ...limits };
    this.clock = clock;
    this.observer = new GuardedObserver(observer);
    this.waiters = new DeadlineList(limits.queueWaitMsMax);
    this.executions = new DeadlineList(limits.executionMsMax);
    this.zombies = new Zombies(limits.permits, this.observer);
    this.alarm = new Alarm(clock, () => this.wake());
    this.state = new LaneStateMachine(laneStateThresholds(limits.permits), clock, (from, to) =>
      this.observer.tell('onStateChanged', from, to),
    );
    this.callHost = {
      name: limits.name,
      callWithdrawn: (call) => this.withdraw(call),
      callAbandoned: () => this.observer.tell('onClientAbort'),
      callEnded: (call) => this.end(call),
    };
    this.permitOwner = {
      permitReturned: (takenAtMs) => this.takeBack(takenAtMs, false),
      permitReturnedTwice: () => this.countViolation(),
    };
  }

  /**
   * A permit now, or the reason why not; never queues. Nothing limits how long it is held: its holder must bound its
   * own work and call `release()` exactly once.
   */
  tryAcquire(): Permit | RefusalReason {
    const reason = this.refusalReason();
    if (reason !== null) {
      this.observer.tell('onRefused', reason, false);
      return reason;
    }
    this.inUse += 1;
    const permit = new Permit(this.permitOwner, this.observer.timesExecutions ? this.clock.now() : 0);
    this.observer.tell('onAdmitted', 0);
    this.observeState();
    return permit;
  }

  /**
   * Runs `work` under a permit: at once, before this returns, where one is free and nobody waits; else in FIFO order.
   * With `abortWhenAbandoned` the execution's signal fires if the caller goes while it runs; without it the work runs to
   * its end (contract 4.9). Never throws; every refusal is a rejection of `result`.
   */
  enter<T>(
    work: (execution: Execution) => T | PromiseLike<T>,
    options: { abortWhenAbandoned?: boolean } = {},
  ): Entry<T> {
    const abortWhenAbandoned = options.abortWhenAbandoned === true;
    const call = new Call(this.callHost, work, { background: false, abortWhenAbandoned });
    const reason = this.refusalReason();
    if (reason === null) this.startAtOnce(call);
    else if (reason === 'full') this.queueOrRefuse(call);
    else this.refuseAtOnce(call, reason);
    return call as Entry<T>;
  }

  /** Runs `work` of the lane's own workers, or refuses it at once: it neither queues nor overtakes a waiter. */
  enterBackground<T>(work: (execution: Execution) => T | PromiseLike<T>): Entry<T> {
    const call = new Call(this.callHost, work, { background: true, abortWhenAbandoned: false });
    const reason = this.refusalReason() ?? (this.backgroundHasRoom() ? null : 'full');
    if (reason === null) this.startAtOnce(call);
    else this.refuseAtOnce(call, reason);
    return call as Entry<T>;
  }

  snapshot(): BulkheadSnapshot {
    const zombies = this.zombies.size;
    return {
      name: this.limits.name,
      state: this.state.state,
      pressure: this.state.pressure,
      permits: this.limits.permits,
      inUse: this.inUse,
      running: this.inUse - zombies,
      zombies,
      background: this.backgroundInUse,
      queued: this.waiters.size,
      queueMax: this.limits.queueMax,
      draining: this.isDraining(),
      stuck: this.zombies.stuck,
      releaseViolations: this.releaseViolations,
      observerFailures: this.observer.failures,
    };
  }

  /**
   * Refuses everything new from now on; waiters and running work go on. Resolves when nothing is in use and nobody
   * waits, which a zombie can put off without end: the caller sets the limit. Idempotent.
   */
  drain(): Promise<void> {
    this.drained ??= Promise.withResolvers<void>();
    this.noteDrained();
    return this.drained.promise;
  }

  /**
   * Stops the timer. Without it nothing would end a wait, so waiters are refused and nothing new is taken; what runs
   * keeps its permit to its end, with no limit. For after `drain`.
   */
  close(): void {
    this.alarm.close();
    this.closed = true;
    for (let call = this.waiters.shift(); call !== null; call = this.waiters.shift()) this.refuse(call, 'draining');
    this.settle();
  }

  private isDraining(): boolean {
    return this.drained !== null || this.closed;
  }

  private refusalReason(): RefusalReason | null {
    if (this.isDraining()) return 'draining';
    return this.mayTakeNow() ? null : 'full';
  }

  /** Whether a newcomer may have a permit: never while anyone waits for one (contract 4.4). */
  protected mayTakeNow(): boolean {
    return this.inUse < this.limits.permits && this.waiters.size === 0 && !this.zombies.stuck;
  }

  protected backgroundHasRoom(): boolean {
    const { background } = this.limits;
    return background !== null && this.backgroundInUse < background.permitsMax && this.inUse + 1 <= background.inUseMax;
  }

  private startAtOnce(call: Call): void {
    this.grant(call, this.clock.now());
    this.observeState();
    this.start(call);
  }

  private queueOrRefuse(call: Call): void {
    const nowMs = this.clock.now();
    // Where the timer is late, a waiter whose time is over must not cost a newcomer its place.
    const expired = this.takeExpiredWaiters(nowMs);
    if (this.zombies.stuck || this.waiters.size >= this.limits.queueMax) {
      this.refuseAtOnce(call, 'full');
    } else {
      this.waiters.append(call, nowMs);
      this.alarm.setFor(call.deadlineMs);
    }
    this.refuseExpired(expired);
    this.observeState();
  }

  /** The one place where a call gets a permit. The limit counts from here (contract 6), and so does the order. */
  protected grant(call: Call, nowMs: number): void {
    this.inUse += 1;
    if (call.background) this.backgroundInUse += 1;
    call.phase = 'granted';
    call.grantedAtMs = nowMs;
    this.executions.append(call, nowMs);
    this.alarm.setFor(call.deadlineMs);
  }

  protected start(call: Call): void {
    // Before anyone is told: a caller whom the observer sends away now is one who goes while the work runs.
    call.phase = 'running';
    this.observer.tell('onAdmitted', call.queueWaitMs);
    void call.start();
  }

  /** The one place where a permit comes back, from a call or from a holder. */
  protected takeBack(takenAtMs: number, background: boolean): void {
    this.vacate(background);
    if (this.observer.timesExecutions) this.observer.tell('onReleased', this.clock.now() - takenAtMs);
    this.settle();
  }

  /** The head waiter has the permit when this returns. */
  private vacate(background: boolean): void {
    this.inUse -= 1;
    if (background) this.backgroundInUse -= 1;
    if (this.waiters.size > 0) this.handOff();
  }

  /** Every free permit to the waiters in their order. Work nobody waits for any more is never begun. */
  protected handOff(): void {
    const nowMs = this.clock.now();
    const expired = this.takeExpiredWaiters(nowMs);
    while (this.inUse < this.limits.permits && !this.zombies.stuck) {
      const call = this.waiters.shift();
      if (call === null) break;
      call.queueWaitMs = nowMs - call.joinedMs;
      this.grant(call, nowMs);
      this.toStart.push(call);
    }
    this.refuseExpired(expired);
  }

  /** Work has ended, in time or as a zombie. */
  protected end(call: Call): void {
    call.phase = 'ended';
    call.list?.remove(call);
    this.zombies.noteLeft();
    this.takeBack(call.grantedAtMs, call.background);
  }

  /** A caller went before its work began: it leaves at once, whatever place it had (contract 4.5). */
  protected withdraw(call: Call): void {
    const holdsPermit = call.phase === 'granted';
    call.phase = 'ended';
    call.list?.remove(call);
    if (holdsPermit) this.vacate(call.background);
    this.refuse(call, 'client_abort');
    this.settle();
  }

  /** A call whose caller already has its entry: one that waited, or held a permit it had not used. */
  protected refuse(call: Call, reason: RefusalReason): void {
    call.refuse(reason);
    this.observer.tell('onRefused', reason, call.background);
  }

  /** A call that is still being made. */
  private refuseAtOnce(call: Call, reason: RefusalReason): void {
    call.refuseSoon(reason);
    this.observer.tell('onRefused', reason, call.background);
  }

  protected countViolation(): void {
    this.releaseViolations += 1;
    this.observer.tell('onReleaseViolation');
  }

  protected takeExpiredWaiters(nowMs: number): Call[] | null {
    if (this.waiters.earliestMs > nowMs) return null;
    const expired: Call[] = [];
    for (let call = this.waiters.shiftDue(nowMs); call !== null; call = this.waiters.shiftDue(nowMs)) {
      expired.push(call);
    }
    return expired;
  }

  private refuseExpired(expired: Call[] | null): void {
    if (expired === null) return;
    for (const call of expired) {
      // The observer of the one before may have sent this one away.
      if (call.phase === 'waiting') this.refuse(call, 'queue_timeout');
    }
  }

  /** The permit stays in use until the work has really ended (contract 6). */
  protected timeOut(call: Call, nowMs: number): void {
    call.phase = 'zombie';
    this.zombies.add(call, nowMs);
    if (!call.abandoned) this.observer.tell('onExecutionTimeout');
    call.timeOut(new ExecutionTimeoutError(this.limits.name, this.limits.executionMsMax));
  }

  /** The timer rang: does what is due, and sets it for what is due next. */
  private wake(): void {
    const nowMs = this.clock.now();
    this.refuseExpired(this.takeExpiredWaiters(nowMs));
    for (let call = this.executions.shiftDue(nowMs); call !== null; call = this.executions.shiftDue(nowMs)) {
      this.timeOut(call, nowMs);
    }
    this.zombies.raiseAlerts(nowMs);
    this.settle();
    this.alarm.setFor(this.nextDueMs());
  }

  private nextDueMs(): number {
    return Math.min(this.waiters.earliestMs, this.executions.earliestMs, this.zombies.dueMs, this.state.dueMs);
  }

  /** After every change that may have freed something. */
  private settle(): void {
    this.observeState();
    this.toStart.run();
    this.noteDrained();
  }

  private observeState(): void {
    this.state.observe(this.inUse, this.inUse === this.limits.permits && this.waiters.size === this.limits.queueMax);
    this.alarm.setFor(this.state.dueMs);
  }

  /**
   * A lane that falls idle keeps its timer, which rings once and is not set again: to cancel it would mean to set one
   * for each call where calls come one after another, at half of their speed. In a drained lane none follows.
   */
  private noteDrained(): void {
    if (this.drained === null) return;
    if (this.nextDueMs() === Infinity) this.alarm.cancel();
    if (this.inUse === 0 && this.waiters.size === 0) this.drained.resolve();
  }
}
