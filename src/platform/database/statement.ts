/** A statement that each connection prepares once, under its name. */
export interface Statement {
  /** Unique per text within the lane. */
  readonly name: string;
  readonly text: string;
}

/** A connection held for one transaction. */
export interface StatementRunner {
  /**
   * Runs a prepared statement and returns its rows.
   *
   * @throws the driver's error, `code` being the SQLSTATE where the server answered.
   */
  query<Row extends object>(statement: Statement, values: readonly unknown[]): Promise<Row[]>;
}

/**
 * The lane's own database. A connection is held for one statement or one transaction, never across a call to
 * another system (contract 4.8).
 */
export interface LaneStore extends StatementRunner {
  /**
   * Runs `work` between BEGIN and COMMIT (READ COMMITTED) on one connection; whatever it throws rolls back.
   *
   * @throws PaymentError `ERR_DATABASE_POOL_EXHAUSTED` when no connection came free within the lane's wait limit,
   *   `ERR_DATABASE_UNAVAILABLE` when the server cannot be reached.
   */
  transaction<T>(work: (connection: StatementRunner) => Promise<T>): Promise<T>;
}
