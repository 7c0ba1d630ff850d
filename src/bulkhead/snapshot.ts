import type { LaneState } from './lane-state';

/** A bulkhead's figures at one moment; all of them hold together. */
export interface BulkheadSnapshot {
  readonly name: string;
  readonly state: LaneState;
  readonly pressure: boolean;
  readonly permits: number;
  /** running + zombies. */
  readonly inUse: number;
  readonly running: number;
  /** Past the execution limit, work not ended. */
  readonly zombies: number;
  /** Of those in use, the ones held by the lane's own workers. */
  readonly background: number;
  readonly queued: number;
  readonly queueMax: number;
  readonly draining: boolean;
  /** Half of the permits or more are zombies older than 30 s: everything new is refused. */
  readonly stuck: boolean;
  readonly releaseViolations: number;
  /** How often the observer has thrown. */
  readonly observerFailures: number;
}
