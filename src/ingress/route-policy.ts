/**
 * What the edge must know of a route before it reads the body; attached to the Fastify route by `@LaneRoute`.
 * A route without a policy (health, metrics, operator pages) is never admitted, shed or paused.
 */
export interface RoutePolicy {
  readonly lane: string;
  /** The scope a token must carry. */
  readonly scope: string;
  /** POST routes of authorization, fraud and tax carry `Idempotency-Key` (contract 8). */
  readonly idempotencyKey: boolean;
  readonly bodyBytesMax: number;
  /** The validated body's member that names the merchant, checked against the token's claim; null where there is none. */
  readonly merchantMember: string | null;
  /** The lane is asked for room before the body is read: see {@link BodyGates}. */
  readonly gated: boolean;
  /** The handler is given the body's text and reads it itself; the edge sees to its type and its UTF-8 only. */
  readonly bodyAsText: boolean;
}
