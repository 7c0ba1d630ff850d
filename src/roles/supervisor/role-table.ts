import { LANES, type Role } from '../../../config/lanes';

/** The processes of the isolated topology; the operator's is the last to stop, so that health can be watched until then. */
export const SUPERVISED_ROLES = [...LANES, 'operator'] as const satisfies readonly Role[];
export type SupervisedRole = (typeof SUPERVISED_ROLES)[number];

export interface ProcessSpecification {
  /**
   * Scheduling priority, lower is more. Below 0 takes a privilege: as near to it as the system grants. The others are
   * lowered in any case, which takes none, so cards come first under any user, and their database server (at 0) before
   * whatever another lane computes: at 5 a process that only computes still took a quarter of a core from it, and the
   * cards' p99 was half as long again.
   */
  niceness: number;
  /**
   * V8's old space: a lane lives on about 50 MiB, and without a bound V8 lets garbage pile up past the 300 MB that a
   * process may have (contract 14). A lane whose memory grows dies alone, before the machine has to choose who does.
   */
  heapMibMax: number;
  /** libuv's threads for files, DNS and signatures: of this process alone, so that one lane's slow DNS blocks no other. */
  threadPoolSize: number;
}

export const roleTable = {
  authorization: { niceness: -10, heapMibMax: 160, threadPoolSize: 4 },
  fraud: { niceness: 10, heapMibMax: 160, threadPoolSize: 4 },
  tax: { niceness: 10, heapMibMax: 160, threadPoolSize: 4 },
  // 64 MiB of bodies and 10,000 items may be in memory at once (contract 11).
  ledger: { niceness: 10, heapMibMax: 256, threadPoolSize: 4 },
  operator: { niceness: 15, heapMibMax: 160, threadPoolSize: 4 },
} as const satisfies Record<SupervisedRole, ProcessSpecification>;
