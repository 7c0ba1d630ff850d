import { type DynamicModule, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { AlertBoard } from '../../platform/alerts';
import { LaneRegistry } from '../../platform/lane-registry';
import { type PlatformSettings, SETTINGS } from '../../platform/settings-token';
import { HealthController } from './health.controller';
import { PeerHealth } from './peer-health';
import { ProcessHealth, type ProcessHealthOptions } from './process-health';
import { Supervision } from './supervision';

@Module({})
export class HealthModule {
  static register(options: ProcessHealthOptions): DynamicModule {
    return {
      module: HealthModule,
      // Its own logger would write an error for every probe of a process that is merely starting or draining.
      imports: [TerminusModule.forRoot({ logger: false, gracefulShutdownTimeoutMs: 0 })],
      controllers: [HealthController],
      providers: [
        Supervision,
        {
          provide: ProcessHealth,
          inject: [LaneRegistry, AlertBoard, SETTINGS, Supervision],
          useFactory: (
            registry: LaneRegistry,
            alerts: AlertBoard,
            settings: PlatformSettings,
            supervision: Supervision,
          ) => {
            const peers = new PeerHealth(options.peers);
            return new ProcessHealth(registry, alerts, settings, { peers, supervision }, options);
          },
        },
      ],
      exports: [ProcessHealth],
    };
  }
}
