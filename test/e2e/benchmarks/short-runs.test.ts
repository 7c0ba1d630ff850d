import { runScript } from '../../support/run-script';

/*
 * The benchmarks in their short form: what they measure in it counts for nothing, but a benchmark that no longer starts,
 * whose load no longer fits the API or whose audit fails is found here and not on the day on which a figure is needed.
 */

const RUN_MS_MAX = 240_000;

describe('a benchmark in its short form comes to its end and says what it measured', () => {
  it.each([
    ['engine/run.js', ['--expose-gc'], [/\bours\b/, /cockatiel/, /refus/]],
    ['authorizations/run.js', [], [/\bp99\b/i, /product/, /plain/]],
    ['isolation/run.js', [], [/\bp99\b/i, /killed|kill/]],
    ['fraud/evaluations/run.js', [], [/one more rule/, /steady/, /capacity/, /one result each/]],
    ['fraud/plans/run.js', [], [/facts of a busy card/, /result for a usual card/]],
    ['fraud/drain/run.js', [], [/jobs\/s/, /alone/, /beside the load/]],
    ['ledger/run.js', [], [/flush p50/, /single/, /COPY/, /own write path/]],
    ['ledger/write-path.js', [], [/generations at max/, /round trips saved/]],
    ['ledger/event-loop.js', [], [/p99Ms/, /5,000 valid items/]],
  ] as const)(
    'bench/%s',
    async (script, options, says) => {
      const { code, output } = await runScript('scripts/node24', [...options, `dist/bench/${script}`, '--short']);
      for (const words of says) expect(output).toMatch(words);
      expect({ script, code, output: code === 0 ? '' : output }).toEqual({ script, code: 0, output: '' });
    },
    RUN_MS_MAX,
  );
});
