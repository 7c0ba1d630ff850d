import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ProfileSummary, summarizeProfile } from '../authorizations/profile';
import { renderProfile } from '../authorizations/report';
import type { Closing } from '../support/closing';
import { describeDurability, readDurability } from '../support/durability';
import { type Installation, install } from '../support/installation';
import { describePlace, type ResultHead, resultHead, writeResult } from '../support/results';
import { runCommand } from '../support/run-command';
import { type Options, readOptions, USAGE } from './command';
import { compareWays, type Way } from './compare';
import { findMaxRate, type MaxRate } from './max-rate';
import { type LedgerRun, type LoadShape, measure } from './measured-run';
import { preload } from './preload';
import { renderRuns, renderWays, renderWindows } from './report';

const BATCH = 100;
const POISON_SHARES = [0.004, 0.05, 1] as const;
const WINDOW_S = 300;
const STEP = { warmupS: 5, durationS: 20 } as const;
const BRIEF = { warmupS: 10, durationS: 30 } as const;
const SHORT = { warmupS: 1, durationS: 2 } as const;

interface Result extends ResultHead {
  readonly options: Options;
  maxRate: MaxRate | null;
  ways: readonly Way[];
  profile: ProfileSummary | null;
  /** Every run there was, void ones too, in the order in which they were made. */
  runs: LedgerRun[];
}

class LedgerBenchmark {
  constructor(
    private readonly options: Options,
    private readonly installation: Installation,
    private readonly closing: Closing,
    private readonly result: Result,
  ) {}

  async run(): Promise<number> {
    const { options, installation, result } = this;
    const { rate, durationS, warmupS, runs, preloadEntries, sustainedMin, single } = options;
    if (preloadEntries > 0) await preload(installation.adminUrl, preloadEntries);
    for (let run = 1; run <= runs; run += 1) await this.measure({ what: `run ${run}`, durationS, warmupS });
    if (sustainedMin > 0) {
      const sustained = await this.measure({ what: 'sustained', durationS: sustainedMin * 60, warmupS });
      console.log(renderWindows(sustained));
    }
    const brief = options.short ? SHORT : BRIEF;
    if (options.findMax) await this.findMax();
    if (single > 0) await this.measure({ what: 'single', itemsPerSecond: single, itemsPerRequest: 1, ...brief });
    for (const poisonShare of options.poison ? POISON_SHARES : []) {
      await this.measure({ what: `poison ${poisonShare * 100} %`, poisonShare, ...brief });
    }
    if (options.profileFolder !== null) await this.profile(options.profileFolder, rate);
    if (options.compare) {
      result.ways = await compareWays(installation.adminUrl, options.short ? 1 : 10, this.closing);
      console.log(`\n${renderWays(result.ways)}`);
    }
    writeResult(options.out, result);
    console.log(describePlace(options.out));
    if (result.runs.some(({ audit }) => !audit.passed)) return 1;
    return result.runs.some((run) => run.void) && !options.short ? 2 : 0;
  }

  private async measure(
    shape: Partial<LoadShape> & Pick<LoadShape, 'what' | 'durationS' | 'warmupS'>,
    nodeArguments: readonly string[] = [],
  ): Promise<LedgerRun> {
    const { rate, lagP99MsMax, out } = this.options;
    const run = await measure(
      { itemsPerSecond: rate, itemsPerRequest: BATCH, poisonShare: 0, windowS: WINDOW_S, lagP99MsMax, ...shape },
      this.installation,
      this.closing,
      nodeArguments,
    );
    this.result.runs.push(run);
    writeResult(out, this.result);
    console.log(renderRuns([run]));
    return run;
  }

  private async findMax(): Promise<void> {
    const found = await findMaxRate(this.options.rate, (itemsPerSecond) =>
      this.measure({ what: 'step', itemsPerSecond, ...STEP }),
    );
    this.result.maxRate = found;
    const held = found.rate === null ? 'no rate held' : `${found.rate} items/s held`;
    const limit = found.limitedByGenerator ? 'was void: the generator is the limit' : 'did not';
    console.log(`${held}; ${found.failedRate ?? 'none'} ${limit}`);
  }

  private async profile(keepIn: string, itemsPerSecond: number): Promise<void> {
    const folder = join(this.installation.folder, 'profile-ledger');
    mkdirSync(folder);
    const run = await this.measure({ what: 'under the profiler', ...BRIEF }, [
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
    ]);
    const fromMs = Date.parse(run.startedAt);
    const profile = summarizeProfile(
      folder,
      fromMs,
      fromMs + run.durationS * 1_000,
      (itemsPerSecond * run.durationS) / BATCH,
    );
    this.result.profile = profile;
    cpSync(folder, keepIn, { recursive: true });
    rmSync(folder, { recursive: true, force: true });
    console.log(`\n${renderProfile('the ledger, a request being 100 items,', profile)}`);
  }
}

async function benchmark(options: Options, closing: Closing): Promise<number> {
  const installation = await install(closing);
  const durability = await readDurability(installation.adminUrl);
  const head = await resultHead('ledger', durability);
  const { machine } = head;
  console.log(`${machine.cpus} × ${machine.model}, ${machine.memoryMiB} MiB, Node ${machine.node}, ${machine.kernel}`);
  console.log(describeDurability(durability));
  const result: Result = { ...head, options, maxRate: null, ways: [], profile: null, runs: [] };
  return new LedgerBenchmark(options, installation, closing, result).run();
}

runCommand(USAGE, readOptions, benchmark);
