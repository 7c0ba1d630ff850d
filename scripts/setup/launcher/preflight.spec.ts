import { readScriptEnvironment } from '../script-environment';
import { weakPassword } from './preflight';

describe('the warning about the operator’s password', () => {
  const warning = (variables: Record<string, string>): string | null => weakPassword(readScriptEnvironment(variables));

  test.each(['1234567', ' 1234567 '])('%j is too short', (password) => {
    expect(warning({ OPERATOR_PASSWORD: password })).toMatch(/has 7 characters/);
  });

  test('there is none from eight on, for one that is generated, or in a test', () => {
    expect(warning({ OPERATOR_PASSWORD: '12345678' })).toBeNull();
    expect(warning({})).toBeNull();
    expect(warning({ OPERATOR_PASSWORD: ' ' })).toBeNull();
    expect(warning({ OPERATOR_PASSWORD: 'short', NODE_ENV: 'test' })).toBeNull();
  });
});
