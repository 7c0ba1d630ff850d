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
