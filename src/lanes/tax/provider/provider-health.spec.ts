import type { FailureReason } from './provider-failure';
import { ProviderHealth } from './provider-health';

function after(...outcomes: ('ok' | FailureReason)[]) {
  const health = new ProviderHealth();
  for (const outcome of outcomes) health.note(outcome);
  return health.health();
}

const times = <T>(count: number, outcome: T): T[] => Array.from({ length: count }, () => outcome);

describe('the provider’s health', () => {
  it.each([
    ['before any call', []],
    ['after two failures', times(2, 'down' as const)],
    ['after a success that came between', ['late', 'late', 'ok', 'late'] as const],
    ['after callers that left', times(50, 'aborted' as const)],
    ['after nineteen orders that were refused', times(19, 'refused' as const)],
    ['after an order that was not', [...times(19, 'refused' as const), 'ok', 'refused'] as const],
  ])('is up %s', (_name, outcomes) => {
    expect(after(...outcomes).status).toBe('up');
  });

  it('is degraded after three failures in a row, callers that left not counted', () => {
    expect(after('down', 'late', 'aborted', 'unreachable')).toEqual({
      name: 'tax_provider',
      status: 'degraded',
      detail: 'the last 3 calls failed, the latest: unreachable',
    });
  });

  it('is degraded after twenty refusals in a row: no caller orders so badly, it is the account', () => {
    expect(after(...times(20, 'refused' as const))).toMatchObject({
      status: 'degraded',
      detail: expect.stringMatching(/the last 20 orders were refused: TAX_PROVIDER_URL/) as string,
    });
  });
});
