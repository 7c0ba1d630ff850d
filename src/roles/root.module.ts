import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { describeSettings, lanesOfRole } from '../../config/environment';
import { LANES } from '../../config/lanes';
import { VERIFY_TOKEN } from '../operator/access/operator-access';
import type { Peer } from '../operator/health/peer-health';
import { OperatorModule } from '../operator/operator.module';
import type { BoardLane } from '../operator/queues/queue-board';
import { AlertBoard } from '../platform/alerts';
import { FaultSwitches } from '../platform/faults';
import { LaneMetrics } from '../platform/lane-metrics';
import { LaneRegistry } from '../platform/lane-registry';
import { loggingModule } from '../platform/logging';
import { type PlatformSettings, SETTINGS } from '../platform/settings-token';
import type { ProcessContext } from './process-context';
import { laneModules } from './role-modules';

/** What the process has once, for whoever asks Nest for it. Lanes are given it by value instead. */
@Global()
@Module({})
class ProcessModule {
  static of(context: ProcessContext): DynamicModule {
    const { role, version, faultsEnabled, operatorPassword } = context.settings;
    const settings: PlatformSettings = { role, version, faultsEnabled, operatorPassword };
    const providers = [
      { provide: LaneRegistry, useValue: context.registry },
      { provide: LaneMetrics, useValue: context.metrics },
      { provide: Registry, useValue: context.metrics.registry },
      { provide: AlertBoard, useValue: context.alerts },
      { provide: FaultSwitches, useValue: context.faults },
      { provide: SETTINGS, useValue: settings },
      { provide: VERIFY_TOKEN, useValue: context.tokens },
    ];
    return { module: ProcessModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}

/** What Nest builds the process of: the lanes of its role, and what operators see of it. */
@Module({})
class RootModule {}

export function rootModule(context: ProcessContext): DynamicModule {
  return {
    module: RootModule,
    imports: [
      loggingModule(context.log),
      ProcessModule.of(context),
      OperatorModule.forProcess({
        health: {
          primaryLane: lanesOfRole(context.settings.role)[0] ?? null,
          settingsShown: describeSettings(context.settings),
          draining: () => context.draining.active,
          peers: peersOf(context),
        },
        pages: servesPages(context) ? { boardLanes: boardLanes(context) } : null,
      }),
      ...laneModules(context),
    ],
  };
}

/** `all` and `operator` serve the pages; a lane's own process has its health, metrics and faults only (contract 13). */
export function servesPages({ settings }: ProcessContext): boolean {
  return settings.role === 'all' || settings.role === 'operator';
}

/** The lanes' own processes, which the operator's gathers by HTTP (contract 2). */
function peersOf({ settings }: ProcessContext): readonly Peer[] {
  if (settings.role !== 'operator') return [];
  return LANES.map((lane) => ({ lane, url: settings.lanes[lane].processUrl }));
}

function boardLanes({ settings }: ProcessContext): readonly BoardLane[] {
  return LANES.flatMap((lane) => {
    const { redisUrl, specification } = settings.lanes[lane];
    return redisUrl === null ? [] : [{ lane, redisUrl, queues: specification.queues.map(({ name }) => name) }];
  });
}
