/** How tests and drills slow a lane from outside (`PUT /faults/:lane`, contract 13). */
export interface LaneFaults {
  /** Added to each execution of the lane, inside its permit; does not obey the abort signal, as slow work would not. */
  readonly latencyMs: number;
  /** Executions never end until this is false again. */
  readonly hang: boolean;
  readonly database: 'ok' | 'stalled';
}

export const noFaults: LaneFaults = Object.freeze({ latencyMs: 0, hang: false, database: 'ok' });

/** One lane's faults. Without any it costs a comparison per execution. */
export class FaultSwitch {
  #faults: LaneFaults = noFaults;
  #lifted: PromiseWithResolvers<void> | null = null;

  current(): LaneFaults {
    return this.#faults;
  }

  /** Replaces the whole: what is left out is as it was without faults. */
  set(faults: Partial<LaneFaults>): void {
    const next = { ...noFaults, ...faults };
    this.#faults = next.latencyMs === 0 && !next.hang && next.database === 'ok' ? noFaults : next;
    if (next.hang) {
      this.#lifted ??= Promise.withResolvers<void>();
    } else {
      this.#lifted?.resolve();
      this.#lifted = null;
    }
  }

  /** What an execution waits for before its work; null when there is nothing to wait for. */
  beforeWork(): Promise<void> | null {
    const { latencyMs, hang } = this.#faults;
    if (hang && this.#lifted) return this.#lifted.promise;
    if (latencyMs === 0) return null;
    return new Promise((resolve) => {
      setTimeout(resolve, latencyMs);
    });
  }
}

/** The switches of the lanes in this process, by lane. */
export class FaultSwitches {
  readonly #switches = new Map<string, FaultSwitch>();

  /** The lane's switch, made when it is first asked for. */
  of(lane: string): FaultSwitch {
    const known = this.#switches.get(lane) ?? new FaultSwitch();
    this.#switches.set(lane, known);
    return known;
  }
}
