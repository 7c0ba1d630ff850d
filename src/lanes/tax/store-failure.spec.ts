import { DatabaseError } from 'pg';
import { PaymentError } from '../../shared/problem';
import { storeFailureOf } from './store-failure';

function failure(state: string): DatabaseError {
  const error = new DatabaseError('a failure', 0, 'error');
  error.code = state;
  return error;
}

it.each(['55P03', '57014', '40001', '40P01', '25006', '53100', '53200'])('%s is the server’s, and 503', (state) => {
  const told = storeFailureOf(failure(state)) as PaymentError;
  expect([told.code, told.kind.status]).toEqual(['ERR_DATABASE_UNAVAILABLE', 503]);
});

it.each([
  ['a table that is missing', failure('42P01')],
  ['a right that is missing', failure('42501')],
  ['what the database did not say', new Error('Connection terminated')],
  ['what a lane has said itself', new PaymentError({ code: 'ERR_X', status: 409, title: '' }, '')],
])('%s is passed as it is', (_name, error) => {
  expect(storeFailureOf(error)).toBe(error);
});
