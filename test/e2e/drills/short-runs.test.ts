import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEndOfFile } from '../../support/closers';
import { runScript } from '../../support/run-script';

/*
 * The incidents and the comparison in their short form. Times count for nothing here; what is counted must be right, and a
 * drill that no longer comes to its end is found here and not on the day on which a figure is needed.
 */

const RUN_MS_MAX = 180_000;

function resultFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'payment-core-drill-test-'));
  atEndOfFile(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'result.json');
}

function readResult<Result>(file: string): Result {
  return JSON.parse(readFileSync(file, 'utf8')) as Result;
}

interface IncidentsResult {
  runs: {
    incident: string;
    verdict: {
      verdict: string;
      figures: Record<string, { value: number | null; limit: number | null; holds: boolean; gates: boolean }>;
    };
  }[];
}

describe('run_incident_drills.sh --short', () => {
  it(
    'a storm without keys and a killed PostgreSQL: all that is judged holds, each with a page of its own',
    async () => {
      const out = resultFile();
      const names = ['storm-without-keys', 'postgres-restart'];
      const lengths = ['--during', '4', '--after', '6'];
      const options = ['--short', ...lengths, '--topology', 'all', '--incidents', names.join(','), '--out', out];
      const { code, output } = await runScript('scripts/drills/run_incident_drills.sh', options);
      const { runs } = readResult<IncidentsResult>(out);
      const broken = runs.flatMap(({ incident, verdict: { figures } }) =>
        Object.entries(figures)
          .filter(([, { gates, holds }]) => gates && !holds)
          .map(([name, { value, limit }]) => `${incident}: ${name} is ${value}, limit ${limit}`),
      );
      expect({ code, broken, output: code === 0 ? '' : output }).toEqual({ code: 0, broken: [], output: '' });
      expect(runs.map(({ incident, verdict }) => [incident, verdict.verdict])).toEqual(
        names.map((name) => [name, 'PASSED']),
      );
      // What these two are about is among the judged.
      expect(runs[0]?.verdict.figures['storm_refused_unprocessed']).toMatchObject({ value: 1, gates: true });
      expect(runs[1]?.verdict.figures['pools_full_again_ms']).toMatchObject({ gates: true });
      for (const name of names) {
        expect(readFileSync(out.replace('.json', `-${name}.html`), 'utf8')).toContain('it happens');
      }
    },
    RUN_MS_MAX,
  );
});

interface ComparisonResult {
  runs: {
    composition: string;
    harmedLanes: string[];
    brownout: { succeededShare: number };
    connections: number;
    connectionsInUseMax: number;
    rssMiBMax: number;
    audit: { passed: boolean };
  }[];
}

describe('run_composition_comparison.sh --short', () => {
  it(
    'the same brownout harms the cards of both shared compositions and of neither of ours',
    async () => {
      const out = resultFile();
      const { code, output } = await runScript('scripts/drills/run_composition_comparison.sh', [
        ...['--short', '--quiet', '1', '--brownout', '4'],
        ...['--out', out],
      ]);
      const { runs } = readResult<ComparisonResult>(out);
      const outcome = { code, audits: runs.map(({ audit }) => audit.passed), output: code === 0 ? '' : output };
      expect(outcome).toEqual({ code: 0, audits: [true, true, true, true], output: '' });
      const [pool, semaphore, ours, isolated] = runs;
      for (const shared of [pool, semaphore]) {
        expect(shared?.harmedLanes).toContain('authorization');
        expect(shared?.connectionsInUseMax).toBe(shared?.connections);
      }
      for (const own of [ours, isolated]) expect(own?.harmedLanes).toEqual(['tax']);
      for (const { composition, rssMiBMax } of runs) {
        expect(output).toContain(composition);
        expect(rssMiBMax).toBeGreaterThan(0);
      }
    },
    RUN_MS_MAX,
  );
});
