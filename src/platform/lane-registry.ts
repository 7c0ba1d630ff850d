/** What operators see of one bulkhead. */
export interface BulkheadView {
  readonly name: string;
  readonly state: 'NORMAL' | 'SATURATED' | 'RECOVERING';
  readonly pressure: boolean;
  readonly permits: number;
  readonly inUse: number;
  readonly running: number;
  readonly zombies: number;
  readonly background: number;
  readonly queued: number;
  readonly queueMax: number;
  readonly draining: boolean;
  readonly stuck: boolean;
}

/** What operators see of one connection pool. */
export interface PoolView {
  readonly datasource: string;
  readonly size: number;
  readonly open: number;
  readonly idle: number;
  readonly busy: number;
  readonly waiting: number;
}

/** Whether something the lane leans on works; `degraded` never takes the lane out of service. */
export interface DependencyHealth {
  readonly name: string;
  readonly status: 'up' | 'degraded' | 'down';
  readonly detail?: string;
}

/** A hosted lane as health, metrics and the console read it. Lanes fill it in; nobody reaches into a lane. */
export interface LaneView {
  readonly lane: string;
  readonly priority: string;
  bulkheads(): readonly BulkheadView[];
  pool(): PoolView;
  /** Whether the lane's own database answers; judged without ever waiting for a pool slot (contract 13). */
  database(): Promise<DependencyHealth>;
  /** Redis, provider, certificate: what makes the lane `degraded` but never unready. */
  dependencies(): Promise<readonly DependencyHealth[]>;
}

/** The lanes of this process, entered by their modules as they start. */
export class LaneRegistry {
  private readonly views = new Map<string, LaneView>();

  register(view: LaneView): void {
    if (this.views.has(view.lane)) throw new Error(`The lane ${view.lane} is registered twice`);
    this.views.set(view.lane, view);
  }

  all(): readonly LaneView[] {
    return [...this.views.values()];
  }

  find(lane: string): LaneView | undefined {
    return this.views.get(lane);
  }
}
