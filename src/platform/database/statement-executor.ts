import type { Connection, PoolClient, QueryResult, Submittable } from 'pg';
import type { Clock } from '../../shared/clock';
import type { LaneFaults } from '../faults';
import { StatementTimedOutError } from './driver-errors';
import { destroySocket } from './pool-internals';
import type { Statement } from './statement';

const STALL_POLL_MS = 25;
const PREPARE_MS_MAX = 5_000;

export interface StatementExecutorOptions {
  readonly datasource: string;
  readonly clock: Clock;
  readonly faults: () => LaneFaults;
  /** A statement has been answered: the server is alive. */
  readonly onAnswered: () => void;
}

/** Runs statements on a connection that the caller holds, each within a limit that a frozen server cannot pass. */
export class StatementExecutor {
  readonly #options: StatementExecutorOptions;

  constructor(options: StatementExecutorOptions) {
    this.#options = options;
  }

  /**
   * @throws StatementTimedOutError when nothing came within `limitMs`; the connection is destroyed then. The server
   *   has its own, shorter `statement_timeout`, and this one is for servers that do not answer at all.
   */
  async run(
    client: PoolClient,
    statement: Statement | string,
    values: readonly unknown[],
    limitMs: number,
  ): Promise<QueryResult> {
    if (this.#options.faults().database === 'stalled') await this.#stall(client, statement, limitMs);
    return this.#bounded<QueryResult>(client, nameOf(statement), limitMs, (settle) => {
      if (typeof statement === 'string') client.query(statement, settle);
      else client.query({ name: statement.name, text: statement.text, values: values as unknown[] }, settle);
    });
  }

  /** Has the server parse the statements, and the driver know that it has. */
  async prepare(client: PoolClient, statements: readonly Statement[]): Promise<void> {
    for (const statement of statements) {
      await this.#bounded<void>(client, statement.name, PREPARE_MS_MAX, (settle) => {
        client.query(new ParseOnly(statement, (error) => settle(error, undefined)));
      });
    }
  }

  #bounded<T>(
    client: PoolClient,
    name: string,
    limitMs: number,
    start: (settle: (error: Error | null | undefined, answer: T) => void) => void,
  ): Promise<T> {
    const { clock, datasource, onAnswered } = this.#options;
    return new Promise<T>((resolve, reject) => {
      let late = false;
      const timer = clock.schedule(() => {
        late = true;
        destroySocket(client);
      }, limitMs);
      start((error, answer) => {
        clock.cancel(timer);
        if (!error) {
          onAnswered();
          resolve(answer);
        } else {
          reject(late ? new StatementTimedOutError(datasource, name, limitMs) : error);
        }
      });
    });
  }

  /** The fault `database: "stalled"`: as if the server had the statement and said nothing. */
  async #stall(client: PoolClient, statement: Statement | string, limitMs: number): Promise<void> {
    const { clock, datasource, faults } = this.#options;
    const deadlineMs = clock.now() + limitMs;
    while (faults().database === 'stalled') {
      if (clock.now() >= deadlineMs) {
        destroySocket(client);
        throw new StatementTimedOutError(datasource, nameOf(statement), limitMs);
      }
      await new Promise<void>((resolve) => clock.schedule(resolve, STALL_POLL_MS));
    }
  }
}

function nameOf(statement: Statement | string): string {
  return typeof statement === 'string' ? statement : statement.name;
}

/** A Parse message without execution. The driver notes the name as parsed when the server confirms it. */
class ParseOnly implements Submittable {
  readonly name: string;
  readonly text: string;
  readonly #done: (error: Error | null) => void;
  /** The driver's own members of a query; it wraps `callback` where a read timeout is set. */
  callback: ((error: Error | null) => void) | undefined;

  constructor(statement: Statement, done: (error: Error | null) => void) {
    this.name = statement.name;
    this.text = statement.text;
    this.#done = done;
  }

  submit(connection: Connection): void {
    connection.parse({ name: this.name, text: this.text, types: [] }, true);
    connection.sync();
  }

  handleReadyForQuery(): void {
    this.#done(null);
  }

  handleError(error: Error): void {
    this.#done(error);
  }
}
