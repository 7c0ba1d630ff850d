import { dirname, join, relative } from 'node:path';
import { type Rule, RuleTester } from 'eslint';
import tseslint from 'typescript-eslint';
import { laneTable } from '../../config/lanes';
import { createSharedFailureDomainRule } from './shared-failure-domain';

export const fixtures = join(__dirname, 'fixtures');

/** The kinds of file that contract 12 names, in the tax lane. */
export const placesOfTax = {
  service: 'src/lanes/tax/tax.service.ts',
  worker: 'src/lanes/tax/tax.processor.ts',
  migration: 'migrations/tax/1-quotes.ts',
  'health indicator': 'src/lanes/tax/tax.health.ts',
} as const;

export interface Example {
  name: string;
  /** The file whose text `code` becomes, under `fixtures/`. */
  file: string;
  /** `@/` in it stands for the root of the fixtures, from wherever the file is. */
  code: string;
}

/** What each finding must say, in the order of the text. */
export interface FailingExample extends Example {
  errors: readonly RegExp[];
}

/** Runs the rule, with the real lane table, on code that stands in the fixtures' project. */
export function runExamples(name: string, failing: readonly FailingExample[], passing: readonly Example[]): void {
  const tester = new RuleTester({
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: fixtures },
    },
  });
  const rule = createSharedFailureDomainRule(laneTable) as unknown as Rule.RuleModule;
  tester.run(name, rule, {
    valid: passing.map(inFixtures),
    invalid: failing.map((example) => ({
      ...inFixtures(example),
      errors: example.errors.map((message) => ({ message })),
    })),
  });
}

function inFixtures({ name, file, code }: Example): {
  name: string;
  filename: string;
  code: string;
  options: object[];
} {
  const filename = join(fixtures, file);
  const up = relative(dirname(filename), fixtures);
  return { name, filename, code: code.replaceAll('@/', `${up}/`), options: [{ root: fixtures }] };
}

/** One example of a kind in each of the four places. */
export function inEachPlace(kind: string, code: string): Example[] {
  return Object.entries(placesOfTax).map(([place, file]) => ({ name: `${kind} in a ${place}`, file, code }));
}

/** The message that tells both lanes, what was reached, by which way and what to do instead. */
export function finding(what: RegExp | string, way: string, who = 'the tax lane', lane = 'fraud'): RegExp {
  const reached = typeof what === 'string' ? what.replaceAll(/[.*()[\]/-]/g, '\\$&') : what.source;
  return new RegExp(
    `^ERR_SHARED_FAILURE_DOMAIN_DETECTED: ${who}\\b.* reaches the ${lane} lane \\(.*${reached}.*\\) by ${way}\\. .*BullMQ.*HTTP`,
  );
}
