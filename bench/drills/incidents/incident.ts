import type { Lane } from '../../../config/lanes';
import type { TargetFile } from '../../load/plan-file';
import type { Closing } from '../../support/closing';
import type { AnswerRow } from '../harness/answer-log';
import type { LaneWatch } from '../harness/lane-watch';
import type { Caller, DrilledSystem } from '../harness/system';
import type { Figure } from '../recovery/figures';

/** Seconds of the schedule: cards alone, cards beside the incident, cards after it. */
export interface IncidentShape {
  readonly cardsPerS: number;
  readonly beforeS: number;
  readonly duringS: number;
  readonly afterS: number;
}

export interface IncidentContext {
  readonly system: DrilledSystem;
  readonly shape: IncidentShape;
  /** Who sends the second target. */
  readonly caller: Caller;
  readonly watch: LaneWatch;
  readonly closing: Closing;
  /** Resolves at a second of the schedule. */
  until(second: number): Promise<void>;
  setFaults(lane: Lane, faults: object): Promise<void>;
}

/** What became of the second target, and when the incident happened, on the wall clock. */
export interface Aftermath {
  readonly rows: readonly AnswerRow[];
  /** The names of the rows' codes. */
  readonly codes: readonly string[];
  readonly happenedAtMs: number;
}

/** What an incident found of its own, beside what is judged in all of them. */
export type Findings = Readonly<Record<string, Figure>>;

export interface Incident {
  readonly name: string;
  readonly title: string;
  /** What the cards must keep; an incident of the database itself cannot leave every first try alone. */
  readonly cards: { readonly firstTryShare: number | null; readonly p99Ms: number | null };
  /** Errors of the server that the incident explains. */
  readonly mayAnswer5xx: boolean;
  /** Of the second target's caller. */
  readonly scope: 'tax' | 'fraud';
  /** What is sent beside the cards. */
  target(context: Pick<IncidentContext, 'system' | 'shape' | 'caller'>): TargetFile;
  /** Does what happens, and resolves when it is over. @returns when it began, on the wall clock. */
  act(context: IncidentContext): Promise<number>;
  /** After the load, when all permits are home. */
  examine(context: IncidentContext, aftermath: Aftermath): Promise<Findings>;
}
