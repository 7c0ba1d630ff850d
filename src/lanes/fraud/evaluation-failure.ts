import { databaseProblems } from '../../platform/database/database.problems';
import { sqlStateOf } from '../../platform/database/driver-errors';
import { PaymentError, type ProblemKind } from '../../shared/problem';
import { fraudProblems } from './fraud.problems';

interface Meaning {
  readonly kind: ProblemKind;
  readonly detail: string;
}

const locked: Meaning = {
  kind: fraudProblems.cardBusy,
  detail: 'The card or its history was locked for too long; nothing was stored.',
};
const notNow: Meaning = {
  kind: databaseProblems.unavailable,
  detail: 'The database could not do this at present; nothing was stored.',
};

/** What the server says of its own state, or of others' work, and not of this request: the same one again may do. */
const BY_SQLSTATE: ReadonlyMap<string, Meaning> = new Map([
  // lock_not_available: a card that another process is evaluating, or a table that somebody alters.
  ['55P03', locked],
  ['40P01', locked],
  ['40001', locked],
  // query_canceled: statement_timeout.
  ['57014', notNow],
  // read_only_sql_transaction: after a failover the old primary still answers.
  ['25006', notNow],
  ['53000', notNow],
  ['53100', notNow],
  ['53200', notNow],
]);

/** What callers are told of a failure of the database; the error itself where it is a fault of ours, or told already. */
export function evaluationFailureOf(error: unknown): unknown {
  const meaning = BY_SQLSTATE.get(sqlStateOf(error) ?? '');
  return meaning === undefined ? error : new PaymentError(meaning.kind, meaning.detail, { cause: error });
}
