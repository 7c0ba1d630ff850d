import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { Lane } from '../../../config/lanes';
import type { TargetFile } from '../../load/plan-file';
import { type AuditResult, auditAuthorizations } from '../../support/audit';
import type { Closing } from '../../support/closing';
import { checkpoint } from '../../support/durability';
import { alertsBetween, readAllMetrics, waitForPermits } from '../harness/aftermath';
import { type AnswerRow, readAnswerLog } from '../harness/answer-log';
import { type LaneConnections, readConnections } from '../harness/connections';
import { LaneWatch } from '../harness/lane-watch';
import { type DrillLoadResult, startLoad } from '../harness/load-process';
import type { DrilledSystem } from '../harness/system';
import { CARDS, type Cut, cut, firstTryShare, QUOTES as BESIDE } from '../recovery/cut';
import { type Figure, judged, told, type Verdict, verdictOf } from '../recovery/figures';
import type { Phase } from '../recovery/schedule';
import type { Incident, IncidentContext, IncidentShape } from './incident';
import type { IncidentSeen } from './incident-page';

const LOOK_EVERY_MS = 250;
/** While a database is away everything that is due waits. */
const IN_FLIGHT_MAX = 5_000;

export interface IncidentRun {
  readonly incident: string;
  readonly title: string;
  readonly verdict: Verdict;
  readonly phases: Cut['phases'];
  readonly alerts: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly codes: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Cards at a constant rate, and beside them what happened: what is recorded of it, and what its page shows. */
export async function runIncident(
  incident: Incident,
  system: DrilledSystem,
  shape: IncidentShape & { readonly warmupS: number; readonly lagP99MsMax: number; readonly short: boolean },
  closing: Closing,
): Promise<{ readonly recorded: IncidentRun; readonly seen: IncidentSeen }> {
  const phases = phasesOf(shape);
  await system.provider.set({ latency_ms: 10, mode: 'ok' });
  await checkpoint(system.adminUrl);
  const watch = new LaneWatch(system.urlOf);
  watch.every(LOOK_EVERY_MS);
  const metricsBefore = await readAllMetrics(system.urlOf);
  const cards = await system.caller('cards', ['authorizations']);
  const caller = await system.caller(incident.scope, [incident.scope]);
  const targets = [cardTarget(system, cards.token, phases, shape), incident.target({ system, shape, caller })];
  const plan = { warmupS: shape.warmupS, lagP99MsMax: shape.lagP99MsMax, targets };
  const running = await startLoad(plan, cards.subject, system.folder, closing);
  const context: IncidentContext = {
    system,
    shape,
    caller,
    watch,
    closing,
    until: async (second) => {
      const waitMs = running.startedAtMs + second * 1_000 - Date.now();
      await sleep(Math.max(0, waitMs), undefined, { signal: closing.signal });
    },
    setFaults: (lane, faults) => setFaults(system, lane, faults),
  };
  const happenedAtMs = await incident.act(context);
  const { result, logFile, auditFile } = await running.finish();
  const permitsOut = await waitForPermits(watch);
  const rows = [...readAnswerLog(logFile)];
  const beside = rows.filter(({ target }) => target === BESIDE);
  const findings = await incident.examine(context, { rows: beside, codes: result.codes, happenedAtMs });
  const alerts = alertsBetween(metricsBefore, await readAllMetrics(system.urlOf));
  await watch.stop();
  const connections = await readConnections(system.adminUrl, (lane) => watch.last(lane).poolSize);
  const audit = await auditAuthorizations(system.adminUrl, cards.subject, auditFile);
  for (const file of [logFile, auditFile]) rmSync(file, { force: true });
  const answers = cut(rows, result.codes, phases, running.startedAtMs);
  const figures: Record<string, Figure> = {
    ...cardFigures(incident, result, rows, answers, shape),
    ...findings,
    ...aftermathFigures({ watch, permitsOut, connections, audit, alerts }),
    generator_lag_p99_ms: told(result.generator.lagMs?.p99, 'ms'),
  };
  const { title } = incident;
  const verdict = verdictOf(figures, result.voidReason);
  return {
    recorded: {
      incident: incident.name,
      title,
      verdict,
      phases: answers.phases,
      alerts,
      statuses: Object.fromEntries(result.targets.map(({ name, statuses }) => [name, statuses])),
      codes: Object.fromEntries(result.targets.map(({ name, codes }) => [name, codes])),
    },
    seen: {
      title,
      verdict,
      topology: system.topology,
      cardsPerS: shape.cardsPerS,
      startedAtMs: running.startedAtMs,
      happenedAtMs,
      cut: answers,
      samples: watch.samples,
      beside,
      codes: result.codes,
    },
  };
}

/** What is judged after every incident: nothing is held, lost, counted twice or alarmed about. */
function aftermathFigures(after: {
  readonly watch: LaneWatch;
  readonly permitsOut: number;
  readonly connections: Readonly<Record<Lane, LaneConnections>>;
  readonly audit: AuditResult;
  readonly alerts: Readonly<Record<string, number>>;
}): Record<string, Figure> {
  const { watch, permitsOut, connections, audit, alerts } = after;
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  const zombies = Object.values(watch.samples).flatMap((all) => all.map((sample) => sample.zombies));
  const orphaned = Object.values(connections).map(({ beyondPool, abandoned }) => beyondPool + abandoned);
  const auditFaults = Math.max(audit.answered - audit.found, 0) + (audit.passed ? 0 : 1);
  return {
    zombies: judged(most(zombies), 'exactly', 0, ''),
    permits_out: judged(permitsOut, 'exactly', 0, ''),
    orphaned_connections: judged(sum(orphaned), 'exactly', 0, ''),
    audit_faults: judged(auditFaults, 'exactly', 0, ''),
    alerts_raised: judged(sum(Object.values(alerts)), 'exactly', 0, ''),
  };
}

function phasesOf({ beforeS, duringS, afterS }: IncidentShape): Phase[] {
  const [begins, ends] = [beforeS, beforeS + duringS];
  return [
    { kind: 'quiet', pair: 0, fromS: 0, toS: begins },
    { kind: 'main', pair: null, fromS: begins, toS: ends },
    { kind: 'recovery', pair: null, fromS: ends, toS: ends + afterS },
  ];
}

function cardTarget(
  system: DrilledSystem,
  token: string,
  phases: readonly Phase[],
  { cardsPerS }: IncidentShape,
): TargetFile {
  return {
    name: 'authorizations',
    url: `${system.urlOf('authorization')}/v1/authorizations`,
    token,
    rate: cardsPerS,
    durationS: phases.at(-1)?.toS ?? 1,
    inFlightMax: IN_FLIGHT_MAX,
    retries: true,
  };
}

function cardFigures(
  { cards, mayAnswer5xx }: Incident,
  result: DrillLoadResult,
  rows: readonly AnswerRow[],
  { phases }: Cut,
  { short }: { readonly short: boolean },
): Record<string, Figure> {
  const during = phases.find(({ phase }) => phase.kind === 'main');
  const [target] = result.targets;
  const unanswered = (target?.unknown ?? 0) + (target?.notSent ?? 0);
  const firstTry = firstTryShare(during, unanswered);
  const p99 = during?.cards?.p99;
  const answers5xx = rows.filter(({ target: index, status }) => index === CARDS && status >= 500).length;
  return {
    card_p50_ms: told(during?.cards?.p50, 'ms'),
    card_p99_ms: cards.p99Ms === null ? told(p99, 'ms') : judged(p99, 'at most', cards.p99Ms, 'ms', !short),
    card_p999_ms: told(during?.cards?.p999, 'ms'),
    card_first_try:
      cards.firstTryShare === null
        ? told(firstTry, 'share')
        : judged(firstTry, 'at least', cards.firstTryShare, 'share'),
    card_after_retries: judged(target?.succeededShare, 'exactly', 1, 'share'),
    card_5xx: mayAnswer5xx ? told(answers5xx, '') : judged(answers5xx, 'exactly', 0, ''),
    card_unanswered: judged(unanswered, 'exactly', 0, ''),
  };
}

async function setFaults(system: DrilledSystem, lane: Lane, faults: object): Promise<void> {
  const { operatorPassword } = system;
  if (operatorPassword === null) throw new Error('A running system is not for breaking');
  const { statusCode, body } = await request(`${system.urlOf(lane)}/faults/${lane}`, {
    method: 'PUT',
    headers: {
      authorization: `Basic ${Buffer.from(`operator:${operatorPassword}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(faults),
  });
  await body.dump();
  if (statusCode !== 200) throw new Error(`/faults/${lane} answered ${statusCode}`);
}

function most(values: readonly number[]): number {
  return values.reduce((max, value) => Math.max(max, value), 0);
}
