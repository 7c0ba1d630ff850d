/**
 * One row of a module's table of failures. The row is the only place where a code meets its HTTP status,
 * so code that fails names a row and knows nothing of HTTP.
 */
export interface ProblemKind {
  readonly code: `ERR_${string}`;
  readonly status: number;
  readonly title: string;
  /** Set where trying again makes sense: seconds before the next try, in `Retry-After` and in the body (contract 7). */
  readonly retryAfterSeconds?: number;
}

/** One fault of a request, by JSON Pointer (RFC 6901) into its body; `/headers/…` and `/query/…` for the rest of it. */
export interface RequestFault {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemExtras {
  readonly errors?: readonly RequestFault[];
  /** Further members of the problem document, such as a certified estimate. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** A failure in the domain's own words, turned into `application/problem+json` at the edge and nowhere else. */
export class PaymentError extends Error {
  readonly kind: ProblemKind;
  readonly extras: ProblemExtras;

  /** @param detail What happened to this request, in a sentence for its sender; never internals. */
  constructor(kind: ProblemKind, detail: string, extras: ProblemExtras = {}) {
    // Refusals are frequent exactly when the process is busiest, and a stack says nothing about them.
    const stackTraceLimit = Error.stackTraceLimit;
    if (kind.status < 500 || kind.retryAfterSeconds !== undefined) Error.stackTraceLimit = 0;
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'PaymentError';
    this.kind = kind;
    this.extras = extras;
  }

  get code(): string {
    return this.kind.code;
  }
}
