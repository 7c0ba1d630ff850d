import type { ResultHead } from '../../support/results';
import { rounded } from '../../support/statistics';
import type { AnswerRow } from '../harness/answer-log';
import type { LaneSamples } from '../harness/lane-watch';
import type { Cut } from '../recovery/cut';
import type { Verdict } from '../recovery/figures';
import type { Colour, LineChart, Series, TimeLine } from '../report/chart';
import { cardLatency, connections, memory, permits, type Seen, states } from '../report/lane-charts';
import { renderPage } from '../report/page';
import { placeFacts, verdictRows } from '../report/run-facts';

export interface IncidentSeen {
  readonly title: string;
  readonly verdict: Verdict;
  readonly topology: string;
  readonly cardsPerS: number;
  /** On the wall clock. */
  readonly startedAtMs: number;
  readonly happenedAtMs: number;
  readonly cut: Cut;
  readonly samples: LaneSamples;
  /** Answers to what was sent beside the cards. */
  readonly beside: readonly AnswerRow[];
  readonly codes: readonly string[];
}

const phases: Readonly<Record<string, readonly [name: string, colour: Colour]>> = {
  quiet: ['before', 'green'],
  main: ['incident', 'red'],
  recovery: ['after', 'blue'],
};

/** One incident on one page. */
export function incidentPage(head: ResultHead, incident: IncidentSeen): string {
  const { title, verdict, cut, startedAtMs, samples } = incident;
  const time = timeLineOf(incident);
  const seen: Seen = { startedAtMs, seconds: cut.seconds, samples, time };
  return renderPage({
    title: `Incident: ${title}`,
    verdict: verdict.verdict,
    verdictDetail: verdict.voidReason,
    table: verdictRows(verdict),
    facts: [['topology', incident.topology], ['load', `${incident.cardsPerS} authorizations/s`], ...placeFacts(head)],
    sections: [
      { title: 'Latency', charts: [cardLatency(seen)] },
      { title: 'What was answered beside the cards', charts: [answersBeside(incident, time)] },
      { title: 'Permits', charts: [permits(seen), states(seen)] },
      { title: 'Connections', charts: [connections(seen)] },
      { title: 'Memory', charts: [memory(seen)] },
    ],
  });
}

function timeLineOf({ cut, startedAtMs, happenedAtMs }: IncidentSeen): TimeLine {
  return {
    lengthS: cut.seconds.length,
    bands: cut.phases.map(({ phase: { kind, fromS, toS } }) => {
      const [name, colour] = phases[kind] ?? [kind, 'grey'];
      return { fromS, toS, name, colour };
    }),
    moments: [{ atS: rounded((happenedAtMs - startedAtMs) / 1_000, 3), name: 'it happens' }],
  };
}

/** Every answer has a colour of its own, the most frequent ones first; what is left shares the last. */
const ANSWER_COLOURS: readonly Colour[] = ['blue', 'orange', 'green', 'red', 'violet'];
const OTHERS: Colour = 'grey';

function answersBeside({ beside, codes, startedAtMs }: IncidentSeen, time: TimeLine): LineChart {
  const counts = new Map<string, number[]>();
  for (const { dueMs, status, code } of beside) {
    const second = Math.floor((dueMs - startedAtMs) / 1_000);
    const name = status < 300 ? String(status) : `${status} ${codes[code] ?? ''}`.trim();
    const perSecond = counts.get(name) ?? Array.from({ length: time.lengthS }, () => 0);
    counts.set(name, perSecond);
    if (second in perSecond) perSecond[second] = (perSecond[second] ?? 0) + 1;
  }
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const series = [...counts]
    .sort(([, left], [, right]) => sum(right) - sum(left))
    .map(([name, perSecond], index): Series => ({
      name,
      colour: ANSWER_COLOURS[index] ?? OTHERS,
      points: perSecond.map((count, second) => [second, count]),
    }));
  return {
    kind: 'lines',
    title: 'Answers, by the second in which their request was due',
    unit: 'per second',
    logarithmic: false,
    upTo: null,
    series,
    time,
  };
}
