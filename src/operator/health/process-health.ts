import type { AlertBoard } from '../../platform/alerts';
import type { DependencyHealth, LaneRegistry, LaneView } from '../../platform/lane-registry';
import type { PlatformSettings } from '../../platform/settings-token';
import { CachedProbe } from './cached-probe';
import { describeAlert, describeBulkhead, describePool } from './descriptions';
import type { Peer, PeerHealth } from './peer-health';
import type { Supervision } from './supervision';

export interface ProcessHealthOptions {
  /** The lane that decides whether the process is ready; null where it hosts none (the operator's process). */
  readonly primaryLane: string | null;
  /** What `/health` shows of the settings: secrets masked already. */
  readonly settingsShown: unknown;
  /** True from the start of the shutdown on: unready, so that nothing new is sent here. */
  readonly draining: () => boolean;
  /** Processes of other lanes whose health is shown beside this one's. */
  readonly peers: readonly Peer[];
}

/** What is known of other processes. */
export interface Surroundings {
  readonly peers: PeerHealth;
  readonly supervision: Supervision;
}

export interface Readiness {
  readonly ready: boolean;
  readonly checks: Readonly<Record<string, DependencyHealth>>;
}

interface LaneProbes {
  readonly database: CachedProbe<DependencyHealth>;
  readonly dependencies: CachedProbe<readonly DependencyHealth[]>;
}

/**
 * The health of this process as orchestrators and operators ask for it (contract 13): within 100 ms whatever it finds, and
 * the operator's overview within 700 ms where another process hangs.
 */
export class ProcessHealth {
  readonly #registry: LaneRegistry;
  readonly #alerts: AlertBoard;
  readonly #settings: PlatformSettings;
  readonly #options: ProcessHealthOptions;
  readonly #surroundings: Surroundings;
  readonly #probes = new Map<string, LaneProbes>();
  readonly #startedAt = new Date(Date.now() - process.uptime() * 1_000);

  constructor(
    registry: LaneRegistry,
    alerts: AlertBoard,
    settings: PlatformSettings,
    surroundings: Surroundings,
    options: ProcessHealthOptions,
  ) {
    this.#registry = registry;
    this.#alerts = alerts;
    this.#settings = settings;
    this.#surroundings = surroundings;
    this.#options = options;
  }

  /** Of the process: that of its most important lane. */
  async ready(): Promise<Readiness> {
    const { primaryLane } = this.#options;
    if (primaryLane === null) return this.#withDraining({ ready: true, checks: {} });
    const lane = this.#registry.find(primaryLane);
    if (lane) return this.#laneReadiness(lane);
    const starting: DependencyHealth = { name: primaryLane, status: 'down', detail: 'still starting' };
    return { ready: false, checks: { [primaryLane]: starting } };
  }

  /** Null where this process does not host the lane. */
  async laneReady(name: string): Promise<Readiness | null> {
    const lane = this.#registry.find(name);
    return lane ? this.#laneReadiness(lane) : null;
  }

  /** Everything that `/health` says. */
  async overview(): Promise<Record<string, unknown>> {
    const [{ ready }, lanes, peers] = await Promise.all([
      this.ready(),
      Promise.all(this.#registry.all().map((lane) => this.#describeLane(lane))),
      this.#surroundings.peers.all(),
    ]);
    const shown = { ...Object.fromEntries(peers), ...Object.fromEntries(lanes) };
    const { processes } = this.#surroundings.supervision;
    const degraded = Object.values(shown).some(({ status }) => status !== 'ok');
    return {
      status: this.#options.draining() ? 'draining' : !ready ? 'unready' : degraded ? 'degraded' : 'ok',
      ready,
      role: this.#settings.role,
      version: this.#settings.version,
      node_version: process.version,
      started_at: this.#startedAt.toISOString(),
      uptime_seconds: Math.floor(process.uptime()),
      memory_rss_bytes: process.memoryUsage.rss(),
      lanes: shown,
      ...(processes === null ? {} : { processes }),
      alerts: this.#alerts.latest().map(describeAlert),
      settings: this.#options.settingsShown,
    };
  }

  /** Saturation is no reason to be unready: it would send the load to the next process, and then to none. */
  async #laneReadiness(lane: LaneView): Promise<Readiness> {
    const { database, dependencies } = this.#probesOf(lane);
    const [own, others] = await Promise.all([database.get(), dependencies.get()]);
    const checks = Object.fromEntries([own, ...others.map(neverDown)].map((check) => [check.name, check]));
    return this.#withDraining({ ready: own.status !== 'down', checks });
  }

  #withDraining({ ready, checks }: Readiness): Readiness {
    if (!this.#options.draining()) return { ready, checks };
    const draining: DependencyHealth = { name: 'process', status: 'down', detail: 'draining' };
    return { ready: false, checks: { ...checks, process: draining } };
  }

  async #describeLane(lane: LaneView): Promise<[string, { status: string }]> {
    const { ready, checks } = await this.#laneReadiness(lane);
    const [database, ...dependencies] = Object.values(checks);
    const degraded = dependencies.some(({ status }) => status !== 'up');
    const description = {
      status: !ready ? 'unready' : degraded ? 'degraded' : 'ok',
      priority: lane.priority,
      ready,
      bulkheads: lane.bulkheads().map(describeBulkhead),
      pool: describePool(lane.pool()),
      database,
      dependencies,
    };
    return [lane.lane, description];
  }

  #probesOf(lane: LaneView): LaneProbes {
    const known = this.#probes.get(lane.lane) ?? {
      database: new CachedProbe<DependencyHealth>(() => lane.database(), {
        name: lane.pool().datasource,
        status: 'down',
        detail: 'no answer yet',
      }),
      dependencies: new CachedProbe<readonly DependencyHealth[]>(() => lane.dependencies(), []),
    };
    this.#probes.set(lane.lane, known);
    return known;
  }
}

/** Only the lane's own database decides; whatever else fails leaves the lane in service (contract 13). */
function neverDown(check: DependencyHealth): DependencyHealth {
  return check.status === 'down' ? { ...check, status: 'degraded' } : check;
}
