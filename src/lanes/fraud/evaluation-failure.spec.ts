import { DatabaseError } from 'pg';
import { PaymentError } from '../../shared/problem';
import { evaluationFailureOf } from './evaluation-failure';
import { fraudProblems } from './fraud.problems';

function answerTo(code: string): unknown {
  const error = Object.assign(new DatabaseError('refused', 0, 'error'), { code });
  const failure = evaluationFailureOf(error);
  return failure instanceof PaymentError
    ? [failure.kind.status, failure.code, failure.kind.retryAfterSeconds]
    : failure;
}

describe('what callers are told where the database refuses an evaluation', () => {
  it.each(['55P03', '40P01', '40001'])('is that the card is busy, for %s', (code) => {
    expect(answerTo(code)).toEqual([503, 'ERR_CARD_BUSY', 5]);
  });

  it.each(['57014', '25006', '53000', '53100', '53200'])('is that the database is away, for %s', (code) => {
    expect(answerTo(code)).toEqual([503, 'ERR_DATABASE_UNAVAILABLE', 5]);
  });

  it.each(['23505', '23514', '42P01', '22021'])('is nothing of %s, a fault of ours', (code) => {
    expect(answerTo(code)).toMatchObject({ code });
  });

  it('is what has been said already', () => {
    const busy = new PaymentError(fraudProblems.cardBusy, 'busy');
    for (const error of [busy, new Error('x'), null]) expect(evaluationFailureOf(error)).toBe(error);
  });
});
