import { DatabaseError } from 'pg';
import { databaseProblems } from '../../../platform/database/database.problems';
import { PaymentError } from '../../../shared/problem';
import { codeOfPoison, UnsendableRowError, writeFailureOf } from './write-failure';

function answered(code: string, severity = 'ERROR'): DatabaseError {
  const error = new DatabaseError('said by the server', 0, 'error');
  error.code = code;
  error.severity = severity;
  return error;
}

it.each([
  ['deadlock', '40P01', 'transient'],
  ['serialization', '40001', 'transient'],
  ['a lock that is not given up', '55P03', 'transient'],
  ['a statement that takes too long', '57014', 'transient'],
  ['a server that reads only', '25006', 'transient'],
  ['a full disk', '53100', 'transient'],
  ['NUL', '22021', 'faulty'],
  ['an overflow', '22003', 'faulty'],
  ['a broken check', '23514', 'faulty'],
  ['a trigger', 'P0001', 'faulty'],
  ['a missing table', '42P01', 'broken'],
  ['a missing right', '42501', 'broken'],
  ['a fault of the server', 'XX000', 'broken'],
])('%s (%s) is %s', (_what, code, failure) => {
  expect(writeFailureOf(answered(code))).toBe(failure);
});

it.each([
  ['a lost connection', new Error('Connection terminated unexpectedly')],
  ['a server that shuts down', answered('57P01', 'FATAL')],
  ['what nobody foresaw', new TypeError('undefined is not a function')],
  ['what is no error at all', 'thrown text'],
])('%s leaves doubt', (_what, error) => {
  expect(writeFailureOf(error)).toBe('in_doubt');
});

it('without a connection nothing was sent', () => {
  for (const kind of [databaseProblems.poolExhausted, databaseProblems.unavailable]) {
    expect(writeFailureOf(new PaymentError(kind, 'none'))).toBe('transient');
  }
  expect(writeFailureOf(new UnsendableRowError('no'))).toBe('faulty');
});

it.each([
  ['22021', 'ERR_INVALID_TEXT'],
  ['22003', 'ERR_INVALID_AMOUNT'],
  ['22008', 'ERR_INVALID_TIMESTAMP'],
  ['23514', 'ERR_MALFORMED_ITEM'],
])('a row refused with %s is answered %s', (state, code) => {
  expect(codeOfPoison(answered(state))).toBe(code);
});
