import { Alarm } from '../../../bulkhead/alarm';
import type { Bulkhead } from '../../../bulkhead/bulkhead';
import { DeadlineList } from '../../../bulkhead/deadline-list';
import { type LaneState, LaneStateMachine, laneStateThresholds } from '../../../bulkhead/lane-state';
import type { Clock } from '../../../shared/clock';
import { failedWith } from '../item-failures';
import type { AdmissionVerdict, Ingest, ItemOutcome, LedgerItem, OutcomeListener } from '../ledger';
import { giveUp, type PendingRow } from '../write/journal';
import { BufferedRow, Member } from './buffered-row';
import { type DueFlush, FlushQueue, type FlushQueueLimits, type FlushTrigger } from './flush-queue';
import type { Room } from './room';

export interface BufferLimits extends FlushQueueLimits {
  readonly itemsMax: number;
  readonly outcomeMsMax: number;
}

/** What the buffer tells as it happens; each call is one event, made on the hot path. */
export interface BufferObserver {
  onFlush?(rows: number, trigger: FlushTrigger): void;
  onFlushed?(elapsedMs: number): void;
  onOutcome?(outcome: ItemOutcome): void;
  onStateChanged?(from: LaneState, to: LaneState): void;
}

export interface LedgerBufferOptions {
  readonly limits: BufferLimits;
  readonly room: Room;
  readonly clock: Clock;
  /** Its permits are the flushes in flight. */
  readonly bulkhead: Pick<Bulkhead, 'enter' | 'snapshot'>;
  /** Brings the rows to the journal; settles each of them, or leaves them to somebody who does. */
  readonly flush: (rows: readonly PendingRow[]) => Promise<void>;
  readonly observer: BufferObserver;
}

/**
 * The one buffer behind every door [BATCH-BANK-001]: it gathers items into flushes, and answers each exactly once.
 * An item belongs to exactly one row, a row to exactly one flush. Nothing here waits for anything: what is due leaves as
 * soon as there is a permit, and one timer rings for what time alone makes due.
 */
export class LedgerBuffer implements Ingest {
  readonly #options: LedgerBufferOptions;
  readonly #clock: Clock;
  readonly #room: Room;
  readonly #queue: FlushQueue;
  /** Rows whose outcome is not known, by key; rows in flight included. */
  readonly #rows = new Map<string, BufferedRow>();
  /** Members by the time at which they are answered, whatever is known by then. */
  readonly #deadlines: DeadlineList<Member>;
  readonly #state: LaneStateMachine;
  readonly #alarm: Alarm;
  #flights = 0;
  #drained: PromiseWithResolvers<void> | null = null;

  constructor(options: LedgerBufferOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#room = options.room;
    this.#queue = new FlushQueue(options.limits);
    this.#deadlines = new DeadlineList(options.limits.outcomeMsMax);
    this.#state = new LaneStateMachine(laneStateThresholds(options.limits.itemsMax), options.clock, (from, to) =>
      options.observer.onStateChanged?.(from, to),
    );
    this.#alarm = new Alarm(options.clock, () => this.#ring());
  }

  get state(): LaneState {
    return this.#state.state;
  }

  get pressure(): boolean {
    return this.#state.pressure;
  }

  /** Items that wait for a flush to leave. */
  get waitingItems(): number {
    return this.#queue.items;
  }

  get flushesInFlight(): number {
    return this.#flights;
  }

  admit(items: readonly LedgerItem[], callerKey: string, onOutcome: OutcomeListener): AdmissionVerdict {
    const verdict = this.#room.verdict(items.length, callerKey);
    if (verdict !== 'admitted') {
      if (verdict === 'no_room') this.#observeState(true);
      return verdict;
    }
    if (items.length === 0) return verdict;
    const share = this.#room.take(items.length, callerKey);
    const nowMs = this.#clock.now();
    for (let index = 0; index < items.length; index += 1) {
      const member = new Member(items[index] as LedgerItem, share, index, onOutcome);
      this.#deadlines.append(member, nowMs);
      this.#place(member);
    }
    this.#observeState();
    this.#dispatch();
    return verdict;
  }

  /**
   * Everything that waits leaves now, and so does whatever is still admitted. Resolves when every admitted item is
   * answered: before the permits are gathered and the pools close (contract 13).
   */
  drain(): Promise<void> {
    this.#drained ??= Promise.withResolvers<void>();
    this.#dispatch();
    this.#noteDrained();
    return this.#drained.promise;
  }

  /** Stops the timer; for after `drain`. */
  close(): void {
    this.#alarm.close();
  }

  #place(member: Member): void {
    const key = member.item.idempotencyKey;
    const known = this.#rows.get(key);
    if (known !== undefined) {
      if (known.join(member) && this.#queue.holds(known)) this.#queue.joined();
      return;
    }
    const row = new BufferedRow(member, this.#onSettled);
    this.#rows.set(key, row);
    this.#queue.push(row);
  }

  /** Every flush that is due and has a permit. */
  #dispatch(): void {
    while (this.#queue.items > 0 && this.#hasPermit()) {
      const due = this.#queue.take(this.#clock.now(), this.#drained !== null);
      if (due === null) break;
      this.#launch(due);
    }
    this.#setAlarm();
  }

  #hasPermit(): boolean {
    const { permits, inUse } = this.#options.bulkhead.snapshot();
    return inUse < permits;
  }

  #launch({ rows, trigger }: DueFlush): void {
    const { bulkhead, flush, observer } = this.#options;
    this.#flights += 1;
    observer.onFlush?.(rows.length, trigger);
    const startedAtMs = this.#clock.now();
    let running: Promise<void> | null = null;
    const entry = bulkhead.enter(() => {
      running = flush(rows);
      return running;
    });
    const ended = (): void => {
      this.#flights -= 1;
      observer.onFlushed?.(this.#clock.now() - startedAtMs);
      this.#dispatch();
      this.#noteDrained();
    };
    const failed = (): void => {
      // A flush that failed in a way nobody foresaw still owes an answer to each of its rows.
      giveUp(rows);
      ended();
    };
    // The flush's own end, not its entry's: past the execution limit the entry is over and the flush is not (contract 6).
    const work = running as Promise<void> | null;
    if (work === null) {
      entry.result.catch(failed);
      return;
    }
    entry.result.catch(() => {});
    work.then(ended, failed);
  }

  readonly #onSettled = (row: BufferedRow, outcome: ItemOutcome): void => {
    this.#rows.delete(row.item.idempotencyKey);
    let first = true;
    for (const member of row.members) {
      // Twins are duplicates of the first, also where the first was given up on meanwhile.
      const own = first || outcome.status === 'FAILED' || outcome.duplicate;
      this.#answer(member, own ? outcome : { ...outcome, duplicate: true });
      first = false;
    }
    if (row.rivals.length > 0) this.#settleRivals(row, outcome);
    this.#observeState();
    this.#noteDrained();
  };

  /** Items behind the row: what became of it decides about them. */
  #settleRivals(row: BufferedRow, outcome: ItemOutcome): void {
    const rivals = row.rivals.filter((rival) => !rival.answered);
    if (outcome.status === 'COMMITTED') {
      const duplicate: ItemOutcome = { ...outcome, duplicate: true };
      for (const rival of rivals) {
        this.#answer(rival, row.isOfPayload(rival.item) ? duplicate : failedWith('ERR_IDEMPOTENCY_CONFLICT'));
      }
      return;
    }
    if (outcome.retryable) {
      for (const rival of rivals) this.#answer(rival, outcome);
      return;
    }
    // The row was refused, so the key may still be free for the next of them, exactly as if it had come afterwards.
    const [next, ...others] = rivals;
    if (next === undefined) return;
    const successor = new BufferedRow(next, this.#onSettled);
    this.#rows.set(next.item.idempotencyKey, successor);
    for (const other of others) successor.join(other);
    this.#queue.pushAgain(successor);
    this.#setAlarm();
  }

  #answer(member: Member, outcome: ItemOutcome): void {
    if (member.answered) return;
    member.answered = true;
    this.#deadlines.remove(member);
    this.#room.giveBack(member.share);
    this.#options.observer.onOutcome?.(outcome);
    member.listener(member.index, outcome);
  }

  #ring(): void {
    const nowMs = this.#clock.now();
    for (
      let member = this.#deadlines.head;
      member !== null && member.deadlineMs <= nowMs;
      member = this.#deadlines.head
    ) {
      this.#giveUp(member);
    }
    this.#observeState();
    this.#dispatch();
    this.#noteDrained();
  }

  /** Its time is over. A row whose statement is out may be committed for all we know; every other one is not written. */
  #giveUp(member: Member): void {
    const row = member.row as BufferedRow;
    const isRival = !row.leave(member);
    if (!isRival && this.#queue.holds(row) && this.#queue.left(row)) this.#forget(row);
    this.#answer(member, failedWith(row.inDoubt && !isRival ? 'ERR_OUTCOME_UNKNOWN' : 'ERR_STORE_UNAVAILABLE'));
  }

  /** A row that nobody waits for and that never left; its rivals, younger than it, are still to be decided about. */
  #forget(row: BufferedRow): void {
    this.#rows.delete(row.item.idempotencyKey);
    const rivals = row.rivals.filter((rival) => !rival.answered);
    for (const rival of rivals) this.#place(rival);
  }

  #observeState(refused = false): void {
    const { items } = this.#room;
    if (refused) this.#state.observe(items, true);
    else this.#state.observe(items);
    // A comparison where nothing is due: in a lane that falls quiet time alone makes it NORMAL again.
    this.#alarm.setFor(this.#state.dueMs);
  }

  #setAlarm(): void {
    // Without a permit nothing can leave before a flush ends, which looks for what is due by itself.
    const flushMs = this.#queue.items > 0 && this.#hasPermit() ? this.#queue.dueMs : Infinity;
    this.#alarm.setFor(Math.min(flushMs, this.#deadlines.earliestMs, this.#state.dueMs));
  }

  #noteDrained(): void {
    if (this.#drained !== null && this.#room.items === 0 && this.#flights === 0) this.#drained.resolve();
  }
}
