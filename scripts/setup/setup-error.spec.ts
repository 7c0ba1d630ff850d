import { describeFault, SetupError } from './setup-error';

describe('what a script prints of an error', () => {
  test('where this user may not touch a file: which one, and what to do', () => {
    const denied = Object.assign(new Error('EACCES: permission denied'), {
      code: 'EACCES',
      path: '/clone/.data/run.json',
    });
    expect(describeFault(denied)).toMatch(
      /^This user may not touch \/clone\/\.data\/run\.json\..*PAYMENT_DATA_DIR=.*own\.$/,
    );
  });

  test('a message that is meant for people as it is, anything else with its stack', () => {
    expect(describeFault(new SetupError('Do this'))).toBe('Do this');
    expect(describeFault(new TypeError('unforeseen'))).toMatch(/^TypeError: unforeseen\n +at /);
    expect(describeFault('thrown')).toBe('thrown');
  });
});
