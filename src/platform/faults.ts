/** How tests and drills slow a lane from outside (`PUT /faults/:lane`, contract 13). */
export interface LaneFaults {
  /** Added to each execution of the lane, inside its permit; does not obey the abort signal, as slow work would not. */
  readonly latencyMs: number;
  /** Executions never end until this is false again. */
  readonly hang: boolean;
  readonly database: 'ok' | 'stalled';
}

export const noFaults: LaneFaults = { latencyMs: 0, hang: false, database: 'ok' };
