/** The workloads of the platform, most important first. Exhaustive: a lane is a row of {@link laneTable} and a folder. */
export const LANES = ['authorization', 'fraud', 'tax', 'ledger'] as const;
export type Lane = (typeof LANES)[number];

/** What one operating-system process hosts: everything, one lane, or the operators' pages. */
export const ROLES = ['all', ...LANES, 'operator'] as const;
export type Role = (typeof ROLES)[number];

/** Permits that the lane's own workers may hold beside its callers. */
export interface BackgroundShare {
  /** The most permits that workers hold together. */
  permitsMax: number;
  /** A worker gets a permit only while permits in use, its own included, stay at or below this share of all. */
  inUseShareMax: number;
  /** True where the share itself is already too much ("only below", not "at most"). */
  exclusive: boolean;
}

export interface BulkheadSpecification {
  /** The metric label. */
  name: string;
  permits: number;
  /** Callers that may wait for a permit, first in, first out; 0 sheds at once. */
  queueMax: number;
  queueWaitMsMax: number;
  /** The caller is answered 504 after this; the permit stays in use until the work really ends. */
  executionMsMax: number;
  background: BackgroundShare | null;
}

export interface DatasourceSpecification {
  /** The TypeORM name. */
  name: string;
  /** Fixed size: all are open before the process is ready, and none idles out. */
  connections: number;
  /** A caller that gets no connection within this is answered 503. */
  connectionWaitMsMax: number;
  schema: string;
  /** The PostgreSQL role of the running lane; it sees its own schema only. */
  role: string;
  /** Owns the tables; migrates, never serves. */
  ownerRole: string;
}

export interface QueueSpecification {
  name: string;
  /** Jobs that one process of the consuming lane runs at once. */
  concurrency: number;
  /** A producer refuses to add to a queue in which this many wait. */
  waitingMax: number;
}

/** How a lane that is full answers. */
export interface FullAnswer {
  code: string;
  retryAfterSeconds: number;
}

export interface LaneSpecification {
  priority: 'P0' | 'P1' | 'P2';
  /** The scope a caller's token must carry. */
  scope: string;
  /** The port of the lane's own process in the isolated topology. */
  portIsolated: number;
  bulkhead: BulkheadSpecification;
  /** Null: reads share the lane's permits. */
  readBulkhead: BulkheadSpecification | null;
  datasource: DatasourceSpecification;
  queues: readonly QueueSpecification[];
  /** Queues of other lanes whose jobs this lane runs; the only way from lane to lane besides HTTP. */
  consumes: readonly string[];
  full: FullAnswer;
  bodyBytesMax: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const laneTable = {
  authorization: {
    priority: 'P0',
    scope: 'authorizations',
    portIsolated: 3001,
    bulkhead: {
      name: 'bulkhead_card_auth',
      permits: 75,
      queueMax: 10,
      queueWaitMsMax: 100,
      executionMsMax: 10_000,
      background: { permitsMax: 4, inUseShareMax: 0.6, exclusive: false },
    },
    readBulkhead: null,
    datasource: {
      name: 'card_auth_ds',
      connections: 40,
      connectionWaitMsMax: 250,
      schema: 'card_auth',
      role: 'card_auth_app',
      ownerRole: 'card_auth_owner',
    },
    queues: [
      { name: 'authorization-expiry', concurrency: 4, waitingMax: 1_000_000 },
      { name: 'authorization-settlement', concurrency: 1, waitingMax: 100_000 },
    ],
    consumes: [],
    full: { code: 'ERR_CARD_AUTH_BULKHEAD_SATURATED', retryAfterSeconds: 5 },
    bodyBytesMax: 64 * KIB,
  },
  fraud: {
    priority: 'P1',
    scope: 'fraud',
    portIsolated: 3002,
    bulkhead: {
      name: 'bulkhead_fraud_eval',
      permits: 30,
      queueMax: 5,
      queueWaitMsMax: 100,
      executionMsMax: 10_000,
      background: { permitsMax: 5, inUseShareMax: 0.5, exclusive: false },
    },
    readBulkhead: null,
    datasource: {
      name: 'fraud_ds',
      connections: 15,
      connectionWaitMsMax: 250,
      schema: 'fraud',
      role: 'fraud_app',
      ownerRole: 'fraud_owner',
    },
    queues: [{ name: 'fraud-overflow', concurrency: 5, waitingMax: 10_000 }],
    consumes: [],
    full: { code: 'ERR_FRAUD_OVERFLOW_UNAVAILABLE', retryAfterSeconds: 5 },
    bodyBytesMax: 64 * KIB,
  },
  tax: {
    priority: 'P2',
    scope: 'tax',
    portIsolated: 3003,
    bulkhead: {
      name: 'bulkhead_tax_calc',
      permits: 15,
      queueMax: 0,
      queueWaitMsMax: 0,
      executionMsMax: 10_000,
      background: { permitsMax: 2, inUseShareMax: 0.5, exclusive: true },
    },
    readBulkhead: null,
    datasource: {
      name: 'tax_ds',
      connections: 5,
      connectionWaitMsMax: 50,
      schema: 'tax',
      role: 'tax_app',
      ownerRole: 'tax_owner',
    },
    queues: [{ name: 'tax-reconciliation', concurrency: 2, waitingMax: 100_000 }],
    consumes: [],
    full: { code: 'ERR_TAX_BULKHEAD_SATURATED', retryAfterSeconds: 5 },
    bodyBytesMax: 64 * KIB,
  },
  ledger: {
    priority: 'P1',
    scope: 'ledger',
    portIsolated: 3004,
    // Permits are flushes here; callers wait in the batch buffer, so the permits have no queue of their own.
    bulkhead: {
      name: 'bulkhead_ledger_ingest',
      permits: 8,
      queueMax: 0,
      queueWaitMsMax: 0,
      executionMsMax: 10_000,
      background: null,
    },
    readBulkhead: {
      name: 'bulkhead_ledger_read',
      permits: 4,
      queueMax: 10,
      queueWaitMsMax: 100,
      executionMsMax: 10_000,
      background: null,
    },
    datasource: {
      name: 'ledger_ds',
      connections: 12,
      connectionWaitMsMax: 250,
      schema: 'ledger',
      role: 'ledger_app',
      ownerRole: 'ledger_owner',
    },
    queues: [
      { name: 'ledger-batch', concurrency: 1, waitingMax: 1_000 },
      { name: 'ledger-dead-letter', concurrency: 1, waitingMax: 100_000 },
    ],
    consumes: ['authorization-settlement'],
    full: { code: 'ERR_LEDGER_BUFFER_FULL', retryAfterSeconds: 1 },
    bodyBytesMax: 8 * MIB,
  },
} as const satisfies Record<Lane, LaneSpecification>;

/** Bounds that only the authorization lane has (contract 9). */
export const authorizationLimits = {
  /** A group of authorizations leaves as soon as fewer than this many are in flight; there is no timer. */
  groupsInFlightMax: 2,
  groupSizeMax: 64,
  executionsPerCardMax: 8,
  cardLockWaitMsMax: 100,
  /** A hold lives this long, and so does the stored answer to its key. */
  holdDays: 7,
  /** Captures, reversals and refunds of a process that wait for a locked card or authorization at once. */
  lockWaitersMax: 8,
  expiry: {
    /** Holds that expire within the same bucket share one delayed job: 60,480 jobs in 7 days. */
    bucketMs: 10_000,
    announcementsInFlightMax: 8,
    /** What the queue lost waits at most this long; a sweep that finds nothing is one look into an index. */
    sweepEveryMs: 10_000,
    sweepBatchMax: 100,
  },
  outbox: {
    /** The relay is woken by each capture and refund; this finds what other processes left. */
    pollEveryMs: 1_000,
    batchMax: 100,
    /** So long a killed relay holds up the rows that it had taken; visible within 5 s includes it. */
    leaseMs: 2_000,
    /** ALERT_OUTBOX_LAG when the oldest unpublished row is older. */
    lagMsMax: 60_000,
    /** Published rows are kept for so long, for people; captures and refunds themselves are kept for ever. */
    keepHours: 6,
    purgeEveryMs: 60_000,
    purgeBatchMax: 1_000,
  },
} as const;

/** Bounds that only the fraud lane has. */
export const fraudLimits = {
  /** Evaluations of one card wait for each other; some milliseconds each, so this is a line of a hundred or a fault. */
  cardTurnWaitMsMax: 500,
} as const;

/** Bounds of the fraud lane's overflow (contract 10), beside the count and the concurrency of its queue above. */
export const fraudOverflowLimits = {
  /** A job older than this is closed as REVIEW, and somebody is told. */
  ageMsMax: 15 * 60_000,
} as const;

/** Bounds that only the tax lane has (contract 10). */
export const taxLimits = {
  estimates: {
    /** Estimates in memory that the database does not have yet: a crash loses at most these. */
    ringEntriesMax: 10_000,
    /** Lines of all of them together; some 250 bytes each. */
    ringLinesMax: 100_000,
    flushEveryMs: 1_000,
    flushBatchMax: 500,
    keepDays: 90,
    purgeBatchMax: 1_000,
  },
  reconciliation: {
    /** The queue wakes it; this finds what the queue lost. */
    pollEveryMs: 10_000,
    /** Longer than an execution may take. */
    leaseMs: 30_000,
    backOffMs: 1_000,
    backOffMsMax: 60_000,
    refusedMs: 500,
    attemptsMax: 5,
  },
} as const;

/** Bounds that only the ledger lane has (contract 11). */
export const ledgerLimits = {
  /** A flush leaves when so many items wait, or the oldest has waited so long; it never writes more rows than that. */
  flushRowsMax: 500,
  flushWaitMsMax: 20,
  /** Items whose outcome is unknown, in flight included; bytes of bodies that are held. One caller has half at most. */
  itemsMax: 10_000,
  bodyBytesHeldMax: 64 * MIB,
  /** From here nothing more is read, until there are fewer than the second figure. */
  congestedFrom: 8_000,
  openBelow: 6_000,
  /** An item whose commit is still in doubt so long after its admission is answered ERR_OUTCOME_UNKNOWN. */
  outcomeMsMax: 10_000,
  /** Balances are rolled up so often; what is younger is summed when it is asked for. */
  rollUpEveryMs: 1_000,
  /**
   * The journal turns to a new generation when the current one's table has so many bytes, about two million entries: the
   * index that random keys are written to then has 150 MB, and stays in memory (docs/ledger-journal.md).
   */
  generationBytesMax: 384 * MIB,
  generationCheckEveryMs: 1_000,
} as const;

/** Permits in use, the worker's own included, up to which a lane's worker may take one. */
export function backgroundInUseMax(permits: number, share: BackgroundShare): number {
  const bound = permits * share.inUseShareMax;
  return share.exclusive ? Math.ceil(bound) - 1 : Math.floor(bound);
}
