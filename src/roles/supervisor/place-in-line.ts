import { LoopWatch } from './loop-watch';
import { applyNiceness, applyPolicy, cpuMsOf, type SchedulingPolicy } from './scheduling';

export interface PlaceOptions {
  pid: number;
  niceness: number;
  /** Whether it stands behind everybody while it serves nobody. */
  standsBack: boolean;
  ask(): void;
  onChange(policy: SchedulingPolicy, why: string): void;
  onFailure(policy: SchedulingPolicy, reason: string): void;
}

const CHECK_MS = 50;
/** On a machine without a free core a start behind everybody would take for ever. */
const START_BACK_MS_MAX = 10_000;

/**
 * Where one life of a process stands in line for the machine's cores. A process that serves nobody, because it starts
 * again or because its event loop does not turn, stands behind all others: on a machine without a free core, niceness
 * alone lets it finish each slice of 1 to 3 ms before whoever has just become ready.
 */
export class PlaceInLine {
  readonly #options: PlaceOptions;
  readonly #watch: LoopWatch;
  #policy: SchedulingPolicy = 'normal';
  #niceness: number | null;
  /** Changes of policy, one after the other. */
  #changes: Promise<void> = Promise.resolve();
  #checking: NodeJS.Timeout | null = null;
  #startLimit: NodeJS.Timeout | null = null;

  constructor(options: PlaceOptions) {
    this.#options = options;
    this.#niceness = applyNiceness(options.pid, options.niceness);
    this.#watch = new LoopWatch({
      nowMs: () => performance.now(),
      cpuMs: () => cpuMsOf(options.pid),
      ask: options.ask,
      onStuck: () => this.#move('idle', 'its event loop does not turn'),
      onTurning: () => this.#move('normal', 'its event loop turns again'),
    });
  }

  get policy(): SchedulingPolicy {
    return this.#policy;
  }

  get niceness(): number | null {
    return this.#niceness;
  }

  /** While others serve and this one does not yet. */
  startBehind(): void {
    if (!this.#options.standsBack) return;
    this.#move('idle', 'it starts while others serve');
    this.#startLimit = setTimeout(() => this.#move('normal', 'its start takes long'), START_BACK_MS_MAX);
  }

  serves(): void {
    this.#clearStartLimit();
    this.#move('normal', 'it is ready');
    // Threads that were made before their maker got its niceness.
    this.#niceness = applyNiceness(this.#options.pid, this.#options.niceness);
    if (this.#options.standsBack) this.#checking = setInterval(() => this.#watch.check(), CHECK_MS);
  }

  turned(): void {
    this.#watch.answered();
  }

  /** It has to end soon: among the others again, and watched no more. */
  drains(): void {
    this.leave();
    this.#move('normal', 'it drains');
  }

  leave(): void {
    this.#clearStartLimit();
    if (this.#checking !== null) clearInterval(this.#checking);
    this.#checking = null;
  }

  #clearStartLimit(): void {
    if (this.#startLimit !== null) clearTimeout(this.#startLimit);
    this.#startLimit = null;
  }

  #move(policy: SchedulingPolicy, why: string): void {
    if (this.#policy === policy) return;
    this.#policy = policy;
    const { pid, onChange, onFailure } = this.#options;
    onChange(policy, why);
    this.#changes = this.#changes
      .then(() => applyPolicy(pid, policy))
      .catch((error: unknown) => {
        // The most usual reason is that the process has ended meanwhile.
        if (cpuMsOf(pid) !== null) onFailure(policy, error instanceof Error ? error.message : String(error));
      });
  }
}
