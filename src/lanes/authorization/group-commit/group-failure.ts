import { isConnectionLoss, sqlStateOf } from '../../../platform/database/driver-errors';
import { databaseProblems } from '../../../platform/database/database.problems';
import { PaymentError } from '../../../shared/problem';
import type { GroupFailure } from './group-store';

const BY_SQLSTATE: ReadonlyMap<string, GroupFailure> = new Map([
  // lock_not_available: the wait for another process's key was over.
  ['55P03', 'key_held'],
  // query_canceled: statement_timeout.
  ['57014', 'statement_timeout'],
  ['40001', 'transient'],
  ['40P01', 'transient'],
  // read_only_sql_transaction: after a failover the old primary still answers.
  ['25006', 'transient'],
  // out_of_memory, disk_full and their like are the server's fault and no member's.
  ['53000', 'transient'],
  ['53100', 'transient'],
  ['53200', 'transient'],
]);

export function groupFailureOf(error: unknown): GroupFailure {
  if (error instanceof PaymentError) {
    if (error.code === databaseProblems.poolExhausted.code) return 'pool_exhausted';
    return error.code === databaseProblems.unavailable.code ? 'transient' : 'faulty';
  }
  if (isConnectionLoss(error)) return 'transient';
  return BY_SQLSTATE.get(sqlStateOf(error) ?? '') ?? 'faulty';
}
