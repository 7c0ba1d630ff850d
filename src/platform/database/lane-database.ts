import type { Pool, PoolClient, QueryResult } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { Clock } from '../../shared/clock';
import type { LaneFaults } from '../faults';
import type { DependencyHealth, PoolView } from '../lane-registry';
import { DatabaseProbe } from './database-probe';
import { CommitRolledBackError, isConnectionLoss, StatementTimedOutError } from './driver-errors';
import { captureTaker, HeldConnections, Takers } from './held-connections';
import { PoolFiller } from './pool-filler';
import { destroySocket, idleClients, removeIdleClient } from './pool-internals';
import { type Slot, SlotQueue, unavailable } from './slot-queue';
import { StatementExecutor } from './statement-executor';
import { type StatementLimits, statementLimits } from './statement-limits';
import type { LaneStore, Statement, StatementRunner } from './statement';

/** What a pool tells as it happens; each call is one event. */
export interface DatabaseObserver {
  /** `takenBy`: the taker's stack, one frame a line (contract 12, DEC-BH-01). */
  onHeldTooLong?(heldMs: number, takenBy: string): void;
  /** A connection went without being asked to. */
  onConnectionLost?(error: Error): void;
  onOpenFailed?(error: Error): void;
}

export interface LaneDatabaseOptions {
  readonly datasource: string;
  /** Fixed size of the pool. */
  readonly connections: number;
  readonly connectionWaitMsMax: number;
  /** The lane's execution limit; statements end before it. */
  readonly executionMsMax: number;
  readonly heldMsMax?: number;
  readonly clock: Clock;
  readonly observer: DatabaseObserver;
  readonly faults: () => LaneFaults;
  /** Ends the pool; the owner's own way where the pool belongs to a DataSource. */
  readonly endPool?: () => Promise<void>;
}

const HELD_MS_MAX = 2_000;
const OPEN_WITHIN_MS = 30_000;
const CLOSE_WITHIN_MS = 5_000;
const ROLLBACK_MS_MAX = 1_000;

/** The lane's own pool: fixed in size, every wait bounded, nothing in doubt handed on. */
export class LaneDatabase implements LaneStore {
  readonly #pool: Pool;
  readonly #options: LaneDatabaseOptions;
  readonly #limits: StatementLimits;
  readonly #clock: Clock;
  readonly #executor: StatementExecutor;
  readonly #queue: SlotQueue;
  readonly #filler: PoolFiller;
  readonly #held: HeldConnections;
  readonly #takers: Takers;
  readonly #probe: DatabaseProbe;
  readonly #slots = new Set<Slot>();
  readonly #doomed = new WeakSet<PoolClient>();
  #statements: readonly Statement[] = [];
  #closing: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  constructor(pool: Pool, options: LaneDatabaseOptions) {
    const { clock, connections, observer } = options;
    this.#pool = pool;
    this.#options = options;
    this.#clock = clock;
    this.#limits = statementLimits(options.executionMsMax);
    this.#executor = new StatementExecutor({
      datasource: options.datasource,
      clock,
      faults: options.faults,
      onAnswered: () => this.#probe.answered(),
    });
    this.#queue = new SlotQueue(pool, clock, options.connectionWaitMsMax);
    this.#held = new HeldConnections(clock, options.heldMsMax ?? HELD_MS_MAX, (heldMs, takenBy) =>
      observer.onHeldTooLong?.(heldMs, takenBy),
    );
    this.#takers = new Takers(clock);
    this.#filler = new PoolFiller(pool, {
      connections,
      clock,
      prepare: (client) => this.#executor.prepare(client, this.#statements),
      onFailed: (error) => {
        observer.onOpenFailed?.(error);
        if (pool.idleCount === 0 && this.#slots.size === 0) this.#queue.failAll(() => unavailable(error));
      },
    });
    this.#probe = new DatabaseProbe(pool, clock, {
      slotFree: () => this.#queue.free,
      run: (statement) => this.query(statement, []),
      openFailure: () => (pool.totalCount === 0 ? this.#filler.lastFailure : null),
    });
    this.#listen();
  }

  /** The pool of an initialised TypeORM DataSource, which `close` destroys as a whole. */
  static of(dataSource: DataSource, options: LaneDatabaseOptions): LaneDatabase {
    const pool = (dataSource.driver as PostgresDriver).master as Pool;
    return new LaneDatabase(pool, { endPool: () => dataSource.destroy(), ...options });
  }

  /** Opens all connections; the lane is not ready before (contract 12). */
  open(withinMs = OPEN_WITHIN_MS): Promise<void> {
    return this.#filler.open(withinMs);
  }

  /** Has every connection, present and future, parse these statements before anybody needs them. */
  async prepareAll(statements: readonly Statement[]): Promise<void> {
    this.#statements = statements;
    const slots = await Promise.all(Array.from({ length: this.#pool.totalCount }, () => this.#queue.take()));
    const outcomes = await Promise.allSettled(slots.map(({ client }) => this.#executor.prepare(client, statements)));
    slots.forEach(({ release }, index) => release(outcomes[index]?.status === 'rejected'));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    const taker = this.#takers.of(statement.name, this.query);
    const slot = await this.#take();
    const holding = this.#held.add(taker);
    let failure: unknown = null;
    try {
      const { rows } = await this.#executor.run(slot.client, statement, values, this.#limits.clientMs);
      return rows as Row[];
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.#held.remove(holding);
      this.#giveBack(slot, failure);
    }
  }

  async transaction<T>(work: (connection: StatementRunner) => Promise<T>): Promise<T> {
    const taker = captureTaker(this.transaction);
    const slot = await this.#take();
    const holding = this.#held.add(taker);
    const deadlineMs = this.#clock.now() + this.#limits.clientMs;
    let open = true;
    let failure: unknown = null;
    const run = (statement: Statement | string, values: readonly unknown[]): Promise<QueryResult> =>
      this.#executor.run(slot.client, statement, values, Math.max(1, deadlineMs - this.#clock.now()));
    const runner: StatementRunner = {
      query: async <Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]> => {
        // A statement that a forgotten promise sends later would run in the next taker's transaction.
        if (!open)
          throw new Error(`${this.#options.datasource}: ${statement.name} came after its transaction had ended`);
        return (await run(statement, values)).rows as Row[];
      },
    };
    try {
      await run('BEGIN ISOLATION LEVEL READ COMMITTED', []);
      const result = await work(runner);
      open = false;
      const { command } = await run('COMMIT', []);
      if (command === 'ROLLBACK') throw new CommitRolledBackError(this.#options.datasource);
      return result;
    } catch (error) {
      open = false;
      failure = await this.#rollBack(slot.client, error);
      throw error;
    } finally {
      this.#held.remove(holding);
      this.#giveBack(slot, failure);
    }
  }

  view(): PoolView {
    const { totalCount, idleCount } = this.#pool;
    return {
      datasource: this.#options.datasource,
      size: this.#options.connections,
      open: totalCount,
      idle: idleCount,
      busy: totalCount - idleCount,
      waiting: this.#queue.waiting + this.#pool.waitingCount,
    };
  }

  /** Whether the server answers; waits for no slot and opens no session (contract 13). Never rejects. */
  async health(): Promise<DependencyHealth> {
    const fault = await this.#probe.check();
    const name = this.#options.datasource;
    return fault === null ? { name, status: 'up' } : { name, status: 'down', detail: fault };
  }

  /**
   * Replaces the connections one by one [MC-RT-01], each as it is idle, so that the pool is never short of more
   * than one. Resolves when the idle ones are replaced; those in use are when they come back.
   */
  async replaceConnections(): Promise<void> {
    const doomed = new Set([...idleClients(this.#pool), ...[...this.#slots].map(({ client }) => client)]);
    for (const client of doomed) this.#doomed.add(client);
    for (const client of doomed) {
      if (!removeIdleClient(this.#pool, client)) continue;
      this.#doomed.delete(client);
      await this.#filler.open(OPEN_WITHIN_MS);
    }
  }

  /** Waits a bounded time for the held connections, destroys those still held, and ends the pool. */
  close(withinMs = CLOSE_WITHIN_MS): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  /** In Nest's order of closing: after the workers, which end in `beforeApplicationShutdown`. */
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  async #close(withinMs: number): Promise<void> {
    this.#filler.stop();
    if (this.#slots.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, withinMs);
        this.#onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#queue.failAll(() => unavailable(new Error('The pool is closed')));
    for (const slot of [...this.#slots]) this.#destroy(slot, new Error('The pool is closed'));
    this.#held.stop();
    await (this.#options.endPool ?? (() => this.#pool.end()))();
  }

  #listen(): void {
    // A connection that breaks while somebody has it emits to nobody, and Node ends a process for that.
    const listen = (client: PoolClient): void => {
      client.on('error', (error: Error) => this.#options.observer.onConnectionLost?.(error));
    };
    this.#pool.on('connect', listen);
    // A datasource opens its first connection before this pool is anybody's.
    for (const client of idleClients(this.#pool)) listen(client);
    // Idle ones: told by the client's own listener already; without this one the process would die.
    this.#pool.on('error', () => {});
    this.#pool.on('error', () => this.#filler.refill());
    this.#pool.on('remove', () => this.#filler.refill());
  }

  async #take(): Promise<Slot> {
    if (this.#closing !== null) throw unavailable(new Error('The pool is closed'));
    if (!this.#filler.full) this.#filler.refill();
    if (this.#pool.totalCount === 0 && this.#filler.lastFailure) throw unavailable(this.#filler.lastFailure);
    const slot = await this.#queue.take();
    this.#slots.add(slot);
    return slot;
  }

  #giveBack(slot: Slot, failure: unknown): void {
    if (!this.#slots.delete(slot)) return;
    const { client, release } = slot;
    const doubtful = failure !== null && isConnectionLoss(failure);
    // A transaction left open would become the next taker's.
    const openTransaction = failure === null && client.getTransactionStatus() !== 'I';
    if (doubtful || openTransaction || this.#doomed.has(client)) {
      release(true);
      destroySocket(client);
    } else {
      release();
    }
    if (this.#slots.size === 0) this.#onIdle?.();
  }

  #destroy(slot: Slot, reason: Error): void {
    if (!this.#slots.delete(slot)) return;
    slot.release(reason);
    destroySocket(slot.client);
  }

  /** Undoes the transaction. Where that fails too the result says that the connection is of no more use. */
  async #rollBack(client: PoolClient, error: unknown): Promise<unknown> {
    if (isConnectionLoss(error) || error instanceof CommitRolledBackError) return error;
    try {
      await this.#executor.run(client, 'ROLLBACK', [], ROLLBACK_MS_MAX);
      return null;
    } catch {
      return new StatementTimedOutError(this.#options.datasource, 'ROLLBACK', ROLLBACK_MS_MAX);
    }
  }
}
