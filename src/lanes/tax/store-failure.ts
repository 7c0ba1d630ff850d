import { databaseProblems } from '../../platform/database/database.problems';
import { isOfOthersWork, isOfTheServer } from '../../platform/database/driver-errors';
import { PaymentError } from '../../shared/problem';

/**
 * What a caller is told where a statement failed by no fault of its order: 503, so that its refusal comes with an
 * estimate and a checkout can go on, and not 500, which comes with none. Anything else is passed as it is; a connection
 * that broke is the admission's to answer, for every lane alike.
 */
export function storeFailureOf(error: unknown): unknown {
  if (!isOfOthersWork(error) && !isOfTheServer(error)) return error;
  return new PaymentError(databaseProblems.unavailable, 'The database does not serve this at present.', {
    cause: error,
  });
}
