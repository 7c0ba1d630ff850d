import { DatabaseError } from 'pg';

/** Socket errors after which nothing more comes over that connection. */
const SOCKET_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);

/** The driver tells of a lost connection by message alone. */
const LOST_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout expired)/;

/**
 * A statement went unanswered past the limit on this side, which a frozen server or a dead network makes of it. Its
 * connection is destroyed; whether the statement took effect is unknown.
 */
export class StatementTimedOutError extends Error {
  override readonly name = 'StatementTimedOutError';

  constructor(datasource: string, statement: string, limitMs: number) {
    super(`${datasource}: no answer to ${statement} within ${Math.round(limitMs)} ms; its connection was destroyed`);
  }
}

/** `COMMIT` of a transaction in which a failed statement was passed over: the server rolled back and reports no error. */
export class CommitRolledBackError extends Error {
  override readonly name = 'CommitRolledBackError';

  constructor(datasource: string) {
    super(`${datasource}: COMMIT rolled back, since a statement of the transaction had failed before`);
  }
}

/** The five characters with which PostgreSQL names a failure; null where the server did not answer. */
export function sqlStateOf(error: unknown): string | null {
  if (!(error instanceof DatabaseError)) return null;
  return error.code ?? null;
}

/** lock_not_available, deadlock_detected, serialization_failure. */
const OF_OTHERS_WORK: ReadonlySet<string> = new Set(['55P03', '40P01', '40001']);
/** query_canceled by statement_timeout; read_only_sql_transaction: after a failover the old primary still answers. */
const OF_THE_SERVER: ReadonlySet<string> = new Set(['57014', '25006']);
/** Disk full, out of memory. */
const INSUFFICIENT_RESOURCES = '53';

/** Whether others' work stood in the way of the statement: the same one again may do. */
export function isOfOthersWork(error: unknown): boolean {
  return OF_OTHERS_WORK.has(sqlStateOf(error) ?? '');
}

/** Whether the server could not do the statement at present, by no fault of its content: the same one again may do. */
export function isOfTheServer(error: unknown): boolean {
  const state = sqlStateOf(error) ?? '';
  return OF_THE_SERVER.has(state) || state.startsWith(INSUFFICIENT_RESOURCES);
}

/**
 * Whether the connection went with the error, so that the fate of what ran on it is unknown. A deadlock, a statement
 * stopped by the server and a violated constraint are no loss: the server answered and the connection is whole.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof StatementTimedOutError) return true;
  if (error instanceof DatabaseError) {
    if (error.severity === 'FATAL' || error.severity === 'PANIC') return true;
    const state = error.code ?? '';
    return state.startsWith('08') || state === '57P01' || state === '57P02' || state === '57P03' || state === '53300';
  }
  if (!(error instanceof Error)) return false;
  if (LOST_MESSAGES.test(error.message)) return true;
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss);
  return 'code' in error && typeof error.code === 'string' && SOCKET_CODES.has(error.code);
}

/**
 * Whether trying to connect again may help: the server is away, starting, or at a connection limit that the backends
 * of a killed process still fill (contract 12). A wrong password or a missing database does not mend itself.
 */
export function isWorthReconnecting(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return isConnectionLoss(error);
  const state = error.code ?? '';
  return state === '53300' || state.startsWith('57P') || state.startsWith('08');
}
