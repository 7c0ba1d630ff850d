import { databaseProblems } from '../../platform/database/database.problems';
import { isOfOthersWork, isOfTheServer } from '../../platform/database/driver-errors';
import { PaymentError } from '../../shared/problem';
import { fraudProblems } from './fraud.problems';

/** What callers are told of a failure of the database; the error itself where it is a fault of ours, or told already. */
export function evaluationFailureOf(error: unknown): unknown {
  // A card that another process is evaluating, or a table that somebody alters.
  if (isOfOthersWork(error)) {
    const detail = 'The card or its history was locked for too long; nothing was stored.';
    return new PaymentError(fraudProblems.cardBusy, detail, { cause: error });
  }
  if (!isOfTheServer(error)) return error;
  const detail = 'The database could not do this at present; nothing was stored.';
  return new PaymentError(databaseProblems.unavailable, detail, { cause: error });
}
