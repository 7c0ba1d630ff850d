/** The card lane's figures (contract 3); every candidate gets them as far as it knows them. */
export const PERMITS = 75;
export const QUEUE = 10;
/** Longer than any measurement: candidates that know limits pay for them, and none of them comes. */
export const LIMIT_MS = 600_000;

export const SCENARIOS = {
  permit: 'a permit taken and given back in the same tick, nothing else in use',
  call: 'an async function that does nothing, called under a permit, one call after another',
  'refused permit': `${PERMITS} permits in use: a permit asked for and not given`,
  'refused call': `${PERMITS} permits in use and the queue of ${QUEUE} full: a call refused, its caller told`,
  'hand-off': `${PERMITS + QUEUE} callers for ${PERMITS} permits, each calling again as soon as it is answered`,
} as const;
export type Scenario = keyof typeof SCENARIOS;

export const FEATURES = {
  lease: 'a second release does no harm',
  fifo: 'permits in the order of arrival, no newcomer overtakes a waiter',
  boundedQueue: 'the queue has an end, and a wait in it',
  timeout: 'a time limit for each call',
  permitKept: 'after the time limit the permit stays in use until the work has ended',
  signal: 'an AbortSignal for each call',
  counts: 'tells of each admission, refusal and time-out',
} as const;
export type Feature = keyof typeof FEATURES;

/** `partly`: see the candidate's note. */
export type Does = Readonly<Record<Feature, 'yes' | 'no' | 'partly'>>;

/** What came of some calls, as counted by the work itself and by the callers, not by the candidate. */
export interface Tally {
  /** Works begun, or permits got. */
  admitted: number;
  refused: number;
  /** Works begun after the work of a later caller. */
  overtaken: number;
}

/** A candidate that is ready: permits in use where the scenario says so. */
export interface Subject {
  run(calls: number): Tally | Promise<Tally>;
  close(): void;
}

export interface Candidate {
  readonly scenario: Scenario;
  /** Package name; `payment-core` for the engine of this repository. */
  readonly peer: string;
  /** What is called, as a reader of the peer's documentation knows it. */
  readonly call: string;
  readonly does: Does;
  readonly note: string;
  prepare(): Subject;
}

export const OURS = 'payment-core';

export function candidateName({ scenario, peer, call }: Pick<Candidate, 'scenario' | 'peer' | 'call'>): string {
  return `${scenario}: ${peer} ${call}`;
}
