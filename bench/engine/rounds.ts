import { OURS, type Candidate, type Tally } from './candidate';
import { type Effort, type Memory, type Speed } from './measure';
import { spread, type Spread } from './statistics';

export interface Measurer {
  speed(place: number, effort: Effort): Promise<Speed>;
  /** Null where the process cannot collect its garbage on demand. */
  memory(place: number, effort: Effort): Promise<Memory> | null;
}

export interface Plan {
  rounds: number;
  speed: Effort;
  memory: Effort;
}

export interface CandidateResult extends Omit<Candidate, 'prepare'> {
  callsPerSecond: Spread;
  /** Ours is 1; 2 is twice as fast. Taken in each round, against ours of the same round. */
  ratioToOurs: Spread;
  allocatedPerCall: Spread | null;
  retainedPerCall: Spread | null;
  /** Over all rounds. */
  counted: Tally & { calls: number };
  perRound: number[];
}

interface Measured {
  speeds: Speed[];
  memories: Memory[];
}

/** Every candidate once in each round, so that a busy minute of the machine falls on all of them. */
export async function runRounds(
  candidates: readonly Candidate[],
  plan: Plan,
  measurer: Measurer,
  onRound: (round: number) => void = () => {},
): Promise<CandidateResult[]> {
  const measured = candidates.map((): Measured => ({ speeds: [], memories: [] }));
  for (let round = 0; round < plan.rounds; round += 1) {
    onRound(round);
    for (const place of orderOf(round, candidates.length)) {
      const { speeds, memories } = measured[place] as Measured;
      speeds.push(await measurer.speed(place, plan.speed));
      const memory = await measurer.memory(place, plan.memory);
      if (memory !== null) memories.push(memory);
    }
  }
  return candidates.map((candidate, place) => {
    const ours = candidates.findIndex(({ scenario, peer }) => scenario === candidate.scenario && peer === OURS);
    return summarise(candidate, measured[place] as Measured, measured[ours] as Measured);
  });
}

/** Forwards and backwards in turn: nobody always follows the same neighbour. */
function orderOf(round: number, length: number): number[] {
  const places = Array.from({ length }, (_, place) => place);
  return round % 2 === 0 ? places : places.reverse();
}

function summarise(candidate: Candidate, { speeds, memories }: Measured, ours: Measured): CandidateResult {
  const { prepare: _prepare, ...description } = candidate;
  const perRound = speeds.map(({ callsPerSecond }) => Math.round(callsPerSecond));
  const sum = (count: (speed: Speed) => number): number => speeds.reduce((total, speed) => total + count(speed), 0);
  return {
    ...description,
    callsPerSecond: spread(perRound),
    ratioToOurs: spread(
      speeds.map(({ callsPerSecond }, round) => callsPerSecond / (ours.speeds[round] as Speed).callsPerSecond),
    ),
    allocatedPerCall: memories.length === 0 ? null : spread(memories.map(({ allocatedPerCall }) => allocatedPerCall)),
    retainedPerCall: memories.length === 0 ? null : spread(memories.map(({ retainedPerCall }) => retainedPerCall)),
    counted: {
      calls: sum(({ calls }) => calls),
      admitted: sum(({ admitted }) => admitted),
      refused: sum(({ refused }) => refused),
      overtaken: sum(({ overtaken }) => overtaken),
    },
    perRound,
  };
}
