import { getQueueToken } from '@nestjs/bullmq';
import type { Provider } from '@nestjs/common';
import { STAND_IN } from '../../../ingress/admission.interceptor';
import type { LaneQueue } from '../../../platform/queue/lane-queue';
import type { LaneHost } from '../../lane-host';
import { LaneBulkheads } from '../../lane-bulkheads';
import { EvaluationTasks } from '../evaluation-task';
import { type Evaluation, EVALUATOR, type Evaluator, OVERFLOW_LOOKUP } from '../fraud';
import { BackgroundPermits } from './background-permits';
import { ExpiryAlarm } from './expiry-alarm';
import { FailureBackOff } from './failure-back-off';
import { FraudOverflow } from './fraud-overflow';
import { OVERFLOW_QUEUE, type OverflowJob, type OverflowResult } from './overflow-job';
import { OverflowRunner } from './overflow-runner';
import { OverflowWatch } from './overflow-watch';
import { observeOverflow } from './overflow.metrics';
import { OVERFLOW_CONCURRENCY, OverflowProcessor } from './overflow.processor';
import { OverflowStandIn, type OverflowStandInOptions } from './overflow.stand-in';

/** The bounds of the overflow, from the lane table. */
export interface OverflowLimits {
  /** Jobs that this process runs at once. */
  readonly concurrency: number;
  readonly ageMsMax: number;
}

/** What the overflow must know of the lane's requests and answers. */
export interface OverflowEdge {
  readonly present: (evaluation: Evaluation) => unknown;
  readonly locationOf: (id: string) => string;
  readonly onRejected: OverflowStandInOptions['onRejected'];
}

/** The overflow's two sides: what takes evaluations in, and what works them off (needs an {@link EVALUATOR}). */
export function overflowProviders(host: LaneHost, limits: OverflowLimits, edge: OverflowEdge): Provider[] {
  const { clock, alerts } = host;
  const observer = observeOverflow(host);
  return [
    {
      provide: FraudOverflow,
      inject: [getQueueToken(OVERFLOW_QUEUE)],
      useFactory: (queue: LaneQueue<OverflowJob, OverflowResult>) =>
        new FraudOverflow({ queue, observer, now: () => clock.now() }),
    },
    {
      provide: OverflowWatch,
      inject: [getQueueToken(OVERFLOW_QUEUE), FraudOverflow],
      useFactory: (queue: LaneQueue<OverflowJob, OverflowResult>, overflow: FraudOverflow) =>
        new OverflowWatch({ queue, overflow, observer, clock, wallNow: () => Date.now() }),
    },
    { provide: OVERFLOW_LOOKUP, useExisting: FraudOverflow },
    {
      provide: STAND_IN,
      inject: [FraudOverflow, EvaluationTasks],
      useFactory: (overflow: FraudOverflow, tasks: EvaluationTasks) =>
        new OverflowStandIn({ ...edge, overflow, tasks }),
    },
    {
      provide: OverflowRunner,
      inject: [LaneBulkheads, EVALUATOR],
      useFactory: ({ main }: LaneBulkheads, evaluator: Evaluator) =>
        new OverflowRunner({
          permits: new BackgroundPermits(main, clock),
          evaluator,
          alarm: new ExpiryAlarm(alerts, clock),
          backOff: new FailureBackOff(clock),
          ageMsMax: limits.ageMsMax,
          wallNow: () => Date.now(),
          onFinished: (outcome, ageMs) => observer.onFinished(outcome, ageMs),
        }),
    },
    { provide: OVERFLOW_CONCURRENCY, useValue: limits.concurrency },
    OverflowProcessor,
  ];
}
