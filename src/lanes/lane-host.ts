import type { Lane } from '../../config/lanes';
import type { BodyGates } from '../ingress/body-gates';
import type { AlertBoard } from '../platform/alerts';
import type { FaultSwitches } from '../platform/faults';
import type { LaneMetrics } from '../platform/lane-metrics';
import type { LaneRegistry } from '../platform/lane-registry';
import type { Log } from '../platform/log';
import type { Clock } from '../shared/clock';

/** What a process gives every lane that it hosts. Only what has no owner among the lanes stands here. */
export interface LaneHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly alerts: AlertBoard;
  readonly metrics: LaneMetrics;
  readonly faults: FaultSwitches;
  readonly registry: LaneRegistry;
  /** Where a lane says what it asks before it lets a body be read. */
  readonly bodyGates: BodyGates;
  /** Connections of all lanes on this lane's database server, replicas and surge included: what it must be able to give. */
  readonly connectionsOnServerOf: (lane: Lane) => number;
  /** Half of a lane's permits are old zombies: a one-lane process ends itself (contract 6). */
  readonly onLaneStuck: (lane: string) => void;
}
