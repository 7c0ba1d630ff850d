import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { lanesOfRole, type Settings } from '../../config/environment';
import { type Lane, LANES } from '../../config/lanes';
import { BodyGates } from '../ingress/body-gates';
import { Draining } from '../ingress/draining';
import { TokenVerifier } from '../ingress/identity';
import type { KeySetSource } from '../ingress/key-set';
import type { LaneHost } from '../lanes/lane-host';
import { createMetricsRegistry } from '../operator/metrics/metrics.module';
import { AlertBoard } from '../platform/alerts';
import { FaultSwitches } from '../platform/faults';
import { LaneMetrics } from '../platform/lane-metrics';
import { LaneRegistry } from '../platform/lane-registry';
import { createLogger } from '../platform/logging';
import { systemClock } from '../platform/system-clock';

/** What one process has once, whatever it hosts. Made before Nest, so that nothing of it depends on the order of modules. */
export interface ProcessContext extends LaneHost {
  readonly settings: Settings;
  readonly log: Logger;
  readonly draining: Draining;
  readonly tokens: TokenVerifier;
}

/** A stuck lane's process gives its running work this long before it ends itself. */
const STUCK_EXIT_AFTER_MS = 5_000;

export function createProcessContext(settings: Settings): ProcessContext {
  const log = createLogger({ level: settings.logLevel, role: settings.role, version: settings.version });
  const metrics = new LaneMetrics(createMetricsRegistry());
  const alerts = new AlertBoard(log, metrics.countAlert);
  const registry = new LaneRegistry();
  const draining = new Draining();
  const tokens = new TokenVerifier(
    { keys: keySource(settings.jwt), issuer: settings.jwt.issuer, audience: settings.jwt.audience },
    systemClock,
    { onKeySetFailure: ({ message }) => log.warn({ reason: message }, 'the callers’ public keys could not be read') },
  );
  return {
    settings,
    clock: systemClock,
    log,
    alerts,
    metrics,
    registry,
    bodyGates: new BodyGates(),
    draining,
    tokens,
    faults: new FaultSwitches(),
    connectionsOnServerOf: (lane) => connectionsOnServerOf(settings, lane),
    onLaneStuck: (lane) => {
      // In `all` the other lanes still serve: the lane refuses and alerts (contract 6).
      if (lanesOfRole(settings.role).length > 1) return;
      log.error({ lane }, 'half of the permits never came back; this process ends for its supervisor to start another');
      draining.begin();
      void delay(STUCK_EXIT_AFTER_MS).then(() => process.exit(1));
    },
  };
}

function keySource({ jwksFile, jwksUrl }: Settings['jwt']): KeySetSource {
  if (jwksUrl !== null) return { url: jwksUrl };
  if (jwksFile !== null) return { file: jwksFile };
  throw new Error('The settings name no keys');
}

/** A lane whose place this process does not know is taken to be on the same server: too many is the safe error. */
function connectionsOnServerOf({ lanes, replicas, replicaSurge }: Settings, lane: Lane): number {
  const server = serverOf(lanes[lane].databaseUrl);
  const perReplica = LANES.filter((other) => [null, server].includes(serverOf(lanes[other].databaseUrl)))
    .map((other) => lanes[other].datasource.connections)
    .reduce((sum, connections) => sum + connections, 0);
  return perReplica * (replicas + replicaSurge);
}

function serverOf(databaseUrl: string | null): string | null {
  return databaseUrl === null ? null : new URL(databaseUrl).host;
}
