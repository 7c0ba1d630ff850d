import { databaseProblems } from '../../platform/database/database.problems';
import { sqlStateOf } from '../../platform/database/driver-errors';
import { PaymentError } from '../../shared/problem';

const TRANSIENT: ReadonlySet<string> = new Set([
  // lock_not_available, query_canceled: lock_timeout and statement_timeout.
  '55P03',
  '57014',
  // serialization_failure, deadlock_detected
  '40001',
  '40P01',
  // read_only_sql_transaction: after a failover the old primary still answers.
  '25006',
]);
/** insufficient_resources: disk full, out of memory. */
const TRANSIENT_CLASS = '53';

/**
 * What a caller is told where a statement failed by no fault of its order: 503, so that its refusal comes with an
 * estimate and a checkout can go on, and not 500, which comes with none. Anything else is passed as it is; a connection
 * that broke is the admission's to answer, for every lane alike.
 */
export function storeFailureOf(error: unknown): unknown {
  const state = sqlStateOf(error);
  if (state === null || !(TRANSIENT.has(state) || state.startsWith(TRANSIENT_CLASS))) return error;
  return new PaymentError(databaseProblems.unavailable, 'The database does not serve this at present.', {
    cause: error,
  });
}
