/** Below this no statement is stopped, however short the lane's execution limit is. */
const STATEMENT_MS_MIN = 100;
/** The server stops a statement this long before the execution limit, so that its answer still arrives inside it. */
const MARGIN_MS = 500;
/** And this side gives up that much after the server should have: only a frozen server or a dead network needs it. */
const CLIENT_GRACE_MS = 250;

/** A lock is waited for this long; the lanes wait for locks on purpose nowhere. */
export const LOCK_WAIT_MS_MAX = 250;
export const IDLE_IN_TRANSACTION_MS_MAX = 5_000;

export interface StatementLimits {
  /** `statement_timeout`: the server's own backend is freed too. */
  readonly serverMs: number;
  /** The connection is destroyed; a transaction as a whole has no more than this either. */
  readonly clientMs: number;
}

/** Limits of a statement inside a lane's execution limit (contract 6): shorter, so that no permit becomes a zombie here. */
export function statementLimits(executionMsMax: number): StatementLimits {
  const serverMs = Math.max(STATEMENT_MS_MIN, executionMsMax - MARGIN_MS);
  return { serverMs, clientMs: serverMs + CLIENT_GRACE_MS };
}
