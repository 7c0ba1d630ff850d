import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Closing } from '../support/closing';
import { describeDurability, readDurability } from '../support/durability';
import { type Installation, install } from '../support/installation';
import { describePlace, type ResultHead, resultHead, writeResult } from '../support/results';
import { runCommand } from '../support/run-command';
import { type Options, readOptions, USAGE } from './command';
import { type Comparison, compare, type Contestant, CONTESTANTS, runContestant, runPair, type Pair } from './control';
import { findMaxRate, type MaxRate } from './find-max';
import type { MeasuredRun } from './measured-run';
import { type ProfileSummary, summarizeProfile } from './profile';
import { renderComparison, renderMaxRate, renderProfile, renderRuns, renderSummaries } from './report';
import { type RunsSummary, runOnTopology, summarize } from './topology-runs';

interface Result extends ResultHead {
  readonly options: Options;
  summaries: RunsSummary[];
  maxRates: Record<string, Omit<MaxRate, 'steps'>>;
  comparison: Omit<Comparison, 'pairs'> | null;
  profiles: Partial<Record<Contestant, ProfileSummary>>;
  /** Every run there was, void ones too, in the order in which they were made. */
  runs: MeasuredRun[];
}

class AuthorizationsBenchmark {
  constructor(
    private readonly options: Options,
    private readonly installation: Installation,
    private readonly closing: Closing,
    private readonly result: Result,
  ) {}

  async run(): Promise<number> {
    await this.prime();
    for (const topology of this.options.topologies) await this.runs(topology);
    if (this.result.summaries.length > 0) console.log(`\n${renderSummaries(this.result.summaries)}`);
    if (this.options.findMax) for (const topology of this.options.topologies) await this.findMax(topology);
    if (this.options.pairs > 0) await this.pairs();
    if (this.options.profile) for (const name of CONTESTANTS) await this.profile(name);
    console.log(describePlace(this.options.out));
    if (this.result.runs.some(({ audit }) => !audit.passed)) return 1;
    return this.result.runs.some((run) => run.void) && !this.options.short ? 2 : 0;
  }

  /** The first load of a new database meets empty tables and cold pages, which no later run does: it is not recorded. */
  private async prime(): Promise<void> {
    const { rate, warmupS, lagP99MsMax } = this.options;
    const shape = { rate, warmupS: 0, durationS: Math.max(1, warmupS), lagP99MsMax };
    await runContestant('product', shape, this.installation, this.closing);
  }

  private record(run: MeasuredRun): MeasuredRun {
    this.result.runs.push(run);
    writeResult(this.options.out, this.result);
    return run;
  }

  private async runs(topology: 'all' | 'isolated'): Promise<void> {
    const { rate, durationS, warmupS, lagP99MsMax } = this.options;
    const shape = { rate, durationS, warmupS, lagP99MsMax };
    const runs: MeasuredRun[] = [];
    for (let index = 0; index < this.options.runs; index += 1) {
      const run = await runOnTopology(topology, shape, this.installation, this.closing);
      runs.push(this.record(run));
      console.log(renderRuns([run]));
    }
    if (runs.length > 0) this.result.summaries.push(summarize(topology, runs));
  }

  private async findMax(topology: 'all' | 'isolated'): Promise<void> {
    const { steps: _steps, ...found } = await findMaxRate(this.options.rate, async (step) => {
      const shape = { ...step, lagP99MsMax: this.options.lagP99MsMax };
      const run = this.record(await runOnTopology(topology, shape, this.installation, this.closing));
      console.log(renderRuns([run]));
      return run;
    });
    this.result.maxRates[topology] = found;
    writeResult(this.options.out, this.result);
    console.log(renderMaxRate(topology, { ...found, steps: [] }));
  }

  private async pairs(): Promise<void> {
    const { rate, warmupS, lagP99MsMax, pairDurationS: durationS } = this.options;
    const shape = { rate, warmupS, durationS, lagP99MsMax };
    const pairs: Pair[] = [];
    for (let index = 0; index < this.options.pairs; index += 1) {
      const pair = await runPair(index, shape, this.installation, this.closing);
      pairs.push(pair);
      this.record(pair.product);
      this.record(pair.plain);
      console.log(renderRuns([pair.product, pair.plain]));
    }
    const { pairs: _pairs, ...comparison } = compare(pairs);
    this.result.comparison = comparison;
    writeResult(this.options.out, this.result);
    console.log(`\n${renderComparison({ pairs, ...comparison })}`);
  }

  private async profile(name: Contestant): Promise<void> {
    const { rate, warmupS, lagP99MsMax, pairDurationS: durationS, profileFolder } = this.options;
    const folder = join(this.installation.folder, `profile-${name}`);
    mkdirSync(folder);
    const nodeArguments = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
    const shape = { rate, warmupS, durationS, lagP99MsMax };
    const run = await runContestant(name, shape, this.installation, this.closing, nodeArguments);
    const fromMs = Date.parse(run.startedAt);
    const profile = summarizeProfile(folder, fromMs, fromMs + durationS * 1_000, run.answered);
    this.result.profiles[name] = profile;
    writeResult(this.options.out, this.result);
    if (profileFolder !== null) cpSync(folder, profileFolder, { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    console.log(`\n${renderProfile(name, profile)}`);
  }
}

async function benchmark(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('authorizations', durability);
  const { machine } = head;
  console.log(`${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, ${machine.kernel}`);
  console.log(describeDurability(durability));
  const result: Result = { ...head, options, summaries: [], maxRates: {}, comparison: null, profiles: {}, runs: [] };
  return new AuthorizationsBenchmark(options, installation, closing, result).run();
}

runCommand(USAGE, readOptions, benchmark);
