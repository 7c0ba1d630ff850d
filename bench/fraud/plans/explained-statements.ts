import { readFacts, storeEvaluation } from '../../../src/lanes/fraud/fraud.statements';
import type { Statement } from '../../../src/platform/database/statement';

/** The statements of an evaluation with the values of one that is new, for the card that {@link card} names. */
export interface ExplainedStatement {
  readonly statement: Statement;
  readonly types: readonly string[];
  readonly values: readonly string[];
}

/** @param card as `loadHistory` numbers them. */
export function readingOf(card: number): ExplainedStatement {
  return {
    statement: readFacts,
    types: ['uuid', 'bytea', 'text', 'text', 'text', 'timestamptz'],
    values: ['gen_random_uuid()', fingerprint(card), `'mer_demo_0001'`, `'US'`, `'USD'`, 'now()'],
  };
}

/** @param cardId the row id of the card. */
export function storingOf(card: number, cardId: number): ExplainedStatement {
  return {
    statement: storeEvaluation,
    types: [
      ...['uuid', 'text', 'bytea', 'bytea', 'bigint', 'bigint', 'timestamptz', 'bigint'],
      ...['text', 'text', 'text', 'smallint', 'text', 'json', 'bytea'],
    ],
    values: [
      ...['gen_random_uuid()', `'bench'`, `sha256('p')`, fingerprint(card), String(cardId), '1', 'now()', '100'],
      ...[`'USD'`, `'US'`, `'mer_demo_0001'`, '0', `'APPROVE'`, `'[]'`, `sha256('r')`],
    ],
  };
}

function fingerprint(card: number): string {
  return `sha256('card ${card}')`;
}
