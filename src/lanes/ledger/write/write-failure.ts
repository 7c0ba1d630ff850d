import { databaseProblems } from '../../../platform/database/database.problems';
import { isConnectionLoss, sqlStateOf } from '../../../platform/database/driver-errors';
import { PaymentError } from '../../../shared/problem';
import type { ItemCode } from '../ledger';

/** A row that cannot even be put into a statement: validation should have refused it. Nothing was sent. */
export class UnsendableRowError extends Error {
  override readonly name = 'UnsendableRowError';
}

/** Why a flush's statement failed, and so what is done about it. */
export type WriteFailure =
  /** Sent, and not answered by the server: it may have been committed. The same again, the keys make it harmless. */
  | 'in_doubt'
  /** Not sent, or undone by the server for no fault of the rows: the same again. */
  | 'transient'
  /** Some row is at fault: dividing the batch finds it. */
  | 'faulty'
  /** Neither trying again nor dividing helps: a missing table, a missing right. */
  | 'broken';

const TRANSIENT: ReadonlySet<string> = new Set([
  // lock_not_available: another process has a key and has not committed.
  '55P03',
  // query_canceled: statement_timeout.
  '57014',
  // serialization_failure, deadlock_detected
  '40001',
  '40P01',
  // read_only_sql_transaction: after a failover the old primary still answers.
  '25006',
  // idle_in_transaction_session_timeout
  '25P03',
]);
/** Classes that speak of what was sent: data exception, integrity, a limit of the program; P0001: raised by a trigger. */
const FAULTY_CLASSES: ReadonlySet<string> = new Set(['22', '23', '54', 'P0']);
/** insufficient_resources (disk full, out of memory), operator intervention. */
const TRANSIENT_CLASSES: ReadonlySet<string> = new Set(['53', '57']);

export function writeFailureOf(error: unknown): WriteFailure {
  if (error instanceof PaymentError) {
    const { poolExhausted, unavailable } = databaseProblems;
    return error.code === poolExhausted.code || error.code === unavailable.code ? 'transient' : 'broken';
  }
  if (error instanceof UnsendableRowError) return 'faulty';
  const state = sqlStateOf(error);
  // Whatever the server did not say itself leaves open whether it has committed: the key will tell.
  if (state === null || isConnectionLoss(error)) return 'in_doubt';
  if (TRANSIENT.has(state) || TRANSIENT_CLASSES.has(state.slice(0, 2))) return 'transient';
  return FAULTY_CLASSES.has(state.slice(0, 2)) ? 'faulty' : 'broken';
}

const CODE_BY_SQLSTATE: ReadonlyMap<string, ItemCode> = new Map([
  // character_not_in_repertoire, untranslatable_character, string_data_right_truncation
  ['22021', 'ERR_INVALID_TEXT'],
  ['22P05', 'ERR_INVALID_TEXT'],
  ['22001', 'ERR_INVALID_TEXT'],
  // numeric_value_out_of_range
  ['22003', 'ERR_INVALID_AMOUNT'],
  // invalid_datetime_format, datetime_field_overflow
  ['22007', 'ERR_INVALID_TIMESTAMP'],
  ['22008', 'ERR_INVALID_TIMESTAMP'],
]);

/** The code of a row that PostgreSQL refuses although validation let it pass, once it stands alone. */
export function codeOfPoison(error: unknown): ItemCode {
  return CODE_BY_SQLSTATE.get(sqlStateOf(error) ?? '') ?? 'ERR_MALFORMED_ITEM';
}
