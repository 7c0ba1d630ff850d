/** Why no answer came although the request was handed to the network: the server may or may not have done the work. */
export const UNKNOWN_REASONS = ['connection_lost', 'timeout', 'malformed'] as const;
export type UnknownReason = (typeof UNKNOWN_REASONS)[number];

/** How one request ended. */
export type Outcome =
  | { kind: 'answered'; status: number; retryAfterS: number | null; body: string | null }
  | { kind: 'unknown'; reason: UnknownReason }
  /** No connection could be opened, so no byte of the request has left. */
  | { kind: 'not_sent' };

/** One request in the hands of a {@link ConnectionPool}. */
export interface Exchange {
  wantsBody(status: number): boolean;
  /** Called exactly once, and never from within `send`. */
  settle(outcome: Outcome): void;
}
