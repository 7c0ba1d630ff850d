import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { laneTable } from '../../config/lanes';
import { withClient } from '../../scripts/setup/postgres-client';
import type { LoadResult } from '../load/result';
import type { Closing } from '../support/closing';
import { checkpoint } from '../support/durability';
import type { Installation } from '../support/installation';
import { startTopology, type Topology, type TopologyName } from '../support/topology';
import { readAnswers } from './answer-log';
import type { Options } from './command';
import { FaultInjector } from './faults';
import { figuresOf, type FaultSummary, type PhaseFigures, summarizeFault } from './phase-figures';
import { type Phase, phasesOf } from './schedule';

const PHASED_LOAD = join(__dirname, 'phased-load.js');
/** So that what is due in the quiet phase is answered before the fault begins. */
const FAULT_AFTER_MS = 500;
/** Of a fault phase: a fault that does not end by itself is ended then, and its traces are in the same phase. */
const FAULT_SHARE = 0.6;
/** For the whole tree of processes: using them all up must not use up the machine's. */
const DESCRIPTORS_MAX = 12_288;
/** A lane dies more often here in an hour than in years. */
const RESTARTS_MAX = '1000';
/** Everything that is due while the one process of `all` stands still for 5 s is in flight at once. */
const IN_FLIGHT_MAX = 10_000;

export interface FaultEvent {
  readonly phase: number;
  readonly injected: boolean;
  readonly ended: 'by itself' | 'told' | 'killed';
  /** Restarts of the broken process within the phase. */
  readonly restarts: number;
}

export interface IsolationRun {
  readonly topology: TopologyName;
  readonly startedAt: string;
  readonly void: boolean;
  readonly voidReason: string | null;
  readonly generatorLagMs: LoadResult['generator']['lagMs'];
  readonly statuses: Readonly<Record<string, number>>;
  readonly codes: Readonly<Record<string, number>>;
  readonly unknownReasons: Readonly<Record<string, number>>;
  readonly notSent: number;
  readonly overflow: number;
  /** Of the measured time. */
  readonly answered201: number;
  /** Rows of the run's caller; never fewer than were answered. */
  readonly rows: number;
  readonly summaries: readonly FaultSummary[];
  readonly phases: readonly PhaseFigures[];
  readonly events: readonly FaultEvent[];
  /** Deaths of the process that serves the cards. */
  readonly cardRestarts: number;
}

/** One load over all phases of one topology. */
export async function runIsolation(
  name: TopologyName,
  options: Options,
  installation: Installation,
  closing: Closing,
): Promise<IsolationRun> {
  const topology = await startTopology(name, installation, closing, {
    environment: { PAYMENT_FAULTS: '1', SUPERVISOR_RESTARTS: RESTARTS_MAX },
    descriptorsMax: DESCRIPTORS_MAX,
    restart: true,
  });
  const injector = new FaultInjector(topology, options.lane, installation.operatorPassword);
  try {
    await checkpoint(installation.adminUrl);
    return await loadAndBreak(topology, injector, options, installation, closing);
  } finally {
    injector.close();
    await topology.stop();
  }
}

async function loadAndBreak(
  topology: Topology,
  injector: FaultInjector,
  options: Options,
  installation: Installation,
  closing: Closing,
): Promise<IsolationRun> {
  const phases = phasesOf(options.faults, options.pairs, options.phaseS);
  const caller = `bench-${randomBytes(6).toString('hex')}`;
  const file = (name: string): string => join(installation.folder, `isolation-${name}`);
  const [planFile, resultFile, answersFile] = [file('plan.json'), file('result.json'), file('answers.bin')];
  const target = {
    name: 'authorizations',
    url: `${topology.urlOf('authorization')}/v1/authorizations`,
    token: await installation.token(caller, ['authorizations']),
    rate: options.rate,
    durationS: phases.at(-1)?.toS ?? 1,
    inFlightMax: IN_FLIGHT_MAX,
  };
  const plan = { warmupS: options.warmupS, lagP99MsMax: options.lagP99MsMax, targets: [target] };
  writeFileSync(planFile, JSON.stringify(plan), { mode: 0o600 });
  const child = spawn(process.execPath, [PHASED_LOAD, planFile, caller, resultFile, answersFile], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  const ended = once(child, 'exit');
  const interrupt = (): void => void child.kill('SIGINT');
  closing.signal.addEventListener('abort', interrupt, { once: true });
  closing.add('the load', async () => void child.kill('SIGKILL'));
  const startedAtMs = await Promise.race([measuringSince(child), ended.then(() => null)]);
  if (startedAtMs === null) throw new Error('The load ended before it began');
  const events = await breakInPhases(phases, startedAtMs, topology, injector, options, closing.signal);
  const [code] = (await ended) as [number | null];
  closing.signal.removeEventListener('abort', interrupt);
  closing.check();
  if (code !== 0) throw new Error(`The load failed (exit code ${code})`);
  const result = JSON.parse(readFileSync(resultFile, 'utf8')) as LoadResult;
  const run = await assemble(topology, options, phases, result, answersFile, events, caller, installation);
  for (const each of [resultFile, answersFile]) rmSync(each, { force: true });
  return run;
}

function measuringSince(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on('message', (message) => {
      const { type, atMs } = message as { type?: string; atMs?: number };
      if (type === 'measuring' && atMs !== undefined) resolve(atMs);
    });
  });
}

async function breakInPhases(
  phases: readonly Phase[],
  startedAtMs: number,
  topology: Topology,
  injector: FaultInjector,
  { lane, phaseS }: Options,
  signal: AbortSignal,
): Promise<FaultEvent[]> {
  const until = async (second: number, plusMs = 0): Promise<void> => {
    const waitMs = startedAtMs + second * 1_000 + plusMs - Date.now();
    await sleep(Math.max(0, waitMs), undefined, { signal });
  };
  const events: FaultEvent[] = [];
  for (const [index, { kind, mode, pair, fromS, toS }] of phases.entries()) {
    if (mode === 'quiet') continue;
    await until(fromS, FAULT_AFTER_MS);
    const restartsBefore = topology.restartsOf(lane);
    const injected = await injector.begin(kind);
    await until(fromS + phaseS * FAULT_SHARE);
    const endedHow = await injector.end(kind);
    await until(toS, -FAULT_AFTER_MS);
    const restarts = topology.restartsOf(lane) - restartsBefore;
    events.push({ phase: index, injected, ended: endedHow, restarts });
    const told = `${topology.name}, pair ${pair + 1}: ${kind} ${injected ? 'done' : 'NOT DONE'}, ended ${endedHow}`;
    console.log(`${told}, ${restarts} restarts`);
  }
  return events;
}

async function assemble(
  topology: Topology,
  options: Options,
  phases: readonly Phase[],
  result: LoadResult,
  answersFile: string,
  events: readonly FaultEvent[],
  caller: string,
  { adminUrl }: Installation,
): Promise<IsolationRun> {
  const [cards] = result.targets;
  if (cards === undefined) throw new Error('The generator says nothing of the cards');
  const figures = figuresOf(phases, readAnswers(answersFile), cards.series, Date.parse(result.startedAt));
  return {
    topology: topology.name,
    startedAt: result.startedAt,
    void: result.void,
    voidReason: result.voidReason,
    generatorLagMs: result.generator.lagMs,
    statuses: cards.statuses,
    codes: cards.codes,
    unknownReasons: cards.unknownReasons,
    notSent: cards.notSent,
    overflow: cards.overflow,
    answered201: cards.statuses['201'] ?? 0,
    rows: await rowsOf(adminUrl, caller),
    summaries: options.faults.map((kind) => summarizeFault(kind, figures)),
    phases: figures,
    events,
    cardRestarts: topology.restartsOf('authorization'),
  };
}

async function rowsOf(adminUrl: string, caller: string): Promise<number> {
  const { schema } = laneTable.authorization.datasource;
  return withClient(adminUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM ${schema}.authorizations WHERE caller = $1`,
      [caller],
    );
    return rows[0]?.count ?? 0;
  });
}
