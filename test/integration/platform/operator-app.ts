import 'reflect-metadata';
import { Controller, Get, Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Registry } from 'prom-client';
import type { AddressInfo } from 'node:net';
import { Draining } from '../../../src/ingress/draining';
import { edgeFastifyOptions } from '../../../src/ingress/edge-options';
import { installEdge } from '../../../src/ingress/install-edge';
import { VERIFY_TOKEN } from '../../../src/operator/access/operator-access';
import type { Peer } from '../../../src/operator/health/peer-health';
import { createMetricsRegistry } from '../../../src/operator/metrics/metrics.module';
import { OperatorModule } from '../../../src/operator/operator.module';
import type { BoardLane } from '../../../src/operator/queues/queue-board';
import { AlertBoard } from '../../../src/platform/alerts';
import { FaultSwitches } from '../../../src/platform/faults';
import { LaneMetrics } from '../../../src/platform/lane-metrics';
import { type DependencyHealth, LaneRegistry, type LaneView } from '../../../src/platform/lane-registry';
import { SETTINGS } from '../../../src/platform/settings-token';
import { systemClock } from '../../../src/platform/system-clock';

export const OPERATOR_PASSWORD = 'correct horse';
export const basic = `Basic ${Buffer.from(`operator:${OPERATOR_PASSWORD}`).toString('base64')}`;

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A lane whose dependencies a test moves by hand. */
export class TestLane implements LaneView {
  databaseHealth: () => Promise<DependencyHealth> = async () => ({ name: 'cards_ds', status: 'up' });
  dependencyHealth: () => Promise<readonly DependencyHealth[]> = async () => [{ name: 'redis', status: 'up' }];
  state: 'NORMAL' | 'SATURATED' = 'NORMAL';
  readonly priority = 'P0';

  constructor(readonly lane: string) {}

  bulkheads(): ReturnType<LaneView['bulkheads']> {
    const inUse = this.state === 'SATURATED' ? 75 : 3;
    return [
      {
        name: `bulkhead_${this.lane}`,
        state: this.state,
        pressure: false,
        permits: 75,
        inUse,
        running: inUse,
        zombies: 0,
        background: 0,
        queued: 0,
        queueMax: 10,
        draining: false,
        stuck: false,
      },
    ];
  }

  pool(): ReturnType<LaneView['pool']> {
    return { datasource: `${this.lane}_ds`, size: 40, open: 40, idle: 38, busy: 2, waiting: 0 };
  }

  database(): Promise<DependencyHealth> {
    return this.databaseHealth();
  }

  dependencies(): Promise<readonly DependencyHealth[]> {
    return this.dependencyHealth();
  }
}

@Controller('v1/things')
class ThingsController {
  @Get()
  list(): unknown {
    return [];
  }
}

export interface OperatorAppOptions {
  lanes?: readonly TestLane[];
  primaryLane?: string | null;
  password?: string | null;
  faultsEnabled?: boolean;
  boardLanes?: readonly BoardLane[];
  peers?: readonly Peer[];
}

export interface OperatorApp {
  app: NestFastifyApplication;
  url: string;
  draining: Draining;
  alerts: AlertBoard;
  metrics: LaneMetrics;
  faults: FaultSwitches;
  close(): Promise<void>;
}

/** The operators' side of a process, behind the real edge, over lanes that are not there. */
export async function openOperatorApp(options: OperatorAppOptions = {}): Promise<OperatorApp> {
  const lanes = options.lanes ?? [new TestLane('cards')];
  const registry = new LaneRegistry();
  for (const lane of lanes) registry.register(lane);
  const prometheus = createMetricsRegistry();
  const metrics = new LaneMetrics(prometheus);
  const alerts = new AlertBoard(quiet, metrics.countAlert);
  const faults = new FaultSwitches();
  const draining = new Draining();
  const tokens = {
    verify: (token: string) =>
      token === 'operator-token' || token === 'other-token'
        ? {
            subject: token,
            merchants: '*' as const,
            scopes: new Set([token === 'operator-token' ? 'operator' : 'tax']),
          }
        : null,
  };
  const provided = [
    { provide: LaneRegistry, useValue: registry },
    { provide: Registry, useValue: prometheus },
    { provide: LaneMetrics, useValue: metrics },
    { provide: AlertBoard, useValue: alerts },
    { provide: FaultSwitches, useValue: faults },
    { provide: VERIFY_TOKEN, useValue: tokens },
    {
      provide: SETTINGS,
      useValue: {
        role: 'all',
        version: '4.0.0',
        faultsEnabled: options.faultsEnabled ?? true,
        operatorPassword: options.password === undefined ? OPERATOR_PASSWORD : options.password,
      },
    },
  ];

  @Global()
  @Module({ providers: provided, exports: provided })
  class ProcessModule {}

  @Module({
    imports: [
      ProcessModule,
      OperatorModule.forProcess({
        health: {
          primaryLane: options.primaryLane === undefined ? 'cards' : options.primaryLane,
          settingsShown: { port: 3000, operatorPassword: '****' },
          draining: () => draining.active,
          peers: options.peers ?? [],
        },
        pages: { boardLanes: options.boardLanes ?? [] },
      }),
    ],
    controllers: [ThingsController],
  })
  class RootModule {}

  const edge = { clock: systemClock, draining };
  const app = await NestFactory.create<NestFastifyApplication>(
    RootModule,
    new FastifyAdapter(edgeFastifyOptions(edge)),
    { bodyParser: false, logger: false },
  );
  installEdge(app, { ...edge, tokens, retryGuard: 'default', onUnexpected: () => {} });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { app, url: `http://127.0.0.1:${port}`, draining, alerts, metrics, faults, close: () => app.close() };
}
