import { DatabaseError } from 'pg';
import { isConnectionLoss, isWorthReconnecting, sqlStateOf, StatementTimedOutError } from './driver-errors';

function serverError(code: string, severity = 'ERROR'): DatabaseError {
  return Object.assign(new DatabaseError(code, 0, 'error'), { code, severity });
}

describe('what an error says of its connection', () => {
  it.each(['57P01', '57P02', '57P03', '08006', '53300'])('%s: it is lost', (code) => {
    expect(isConnectionLoss(serverError(code, 'FATAL'))).toBe(true);
    expect(isConnectionLoss(serverError(code))).toBe(true);
    expect(isWorthReconnecting(serverError(code))).toBe(true);
  });

  it.each(['57014', '40P01', '55P03', '23505', '22P05'])('%s: it is whole', (code) => {
    expect(isConnectionLoss(serverError(code))).toBe(false);
    expect(sqlStateOf(serverError(code))).toBe(code);
  });

  it.each(['28P01', '3D000', '42501'])('%s: no waiting mends it', (code) => {
    expect(isWorthReconnecting(serverError(code, 'FATAL'))).toBe(false);
  });

  it('knows the driver’s and the socket’s own', () => {
    expect(isConnectionLoss(Object.assign(new Error('x'), { code: 'ECONNRESET' }))).toBe(true);
    expect(isConnectionLoss(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(isConnectionLoss(new StatementTimedOutError('ds', 'one', 5))).toBe(true);
    expect(isConnectionLoss(new AggregateError([Object.assign(new Error('x'), { code: 'ECONNREFUSED' })]))).toBe(true);
    expect(isConnectionLoss(new TypeError('x is undefined'))).toBe(false);
    expect(sqlStateOf(new Error('x'))).toBeNull();
  });
});
