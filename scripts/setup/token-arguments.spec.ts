import { asksForHelp, parseTokenArguments, TokenArgumentsError } from './token-arguments';

const refusal = (...args: string[]): string => {
  try {
    parseTokenArguments(args);
  } catch (error) {
    if (error instanceof TokenArgumentsError) return error.message;
    throw error;
  }
  throw new Error('It was accepted');
};

describe('the arguments of a token', () => {
  test('a subject and a scope are enough: every merchant, one hour', () => {
    expect(parseTokenArguments(['--subject', 'checkout', '--scope', 'authorizations,tax'])).toEqual({
      subject: 'checkout',
      scopes: ['authorizations', 'tax'],
      merchants: '*',
      expiresInSeconds: 3_600,
    });
  });

  test('lists may be written with commas or spaces, and name nothing twice', () => {
    const given = ['--subject', 'a', '--scope', 'tax tax,fraud', '--merchants', 'mer_1, mer_2,mer_1'];
    expect(parseTokenArguments(given)).toMatchObject({ scopes: ['tax', 'fraud'], merchants: ['mer_1', 'mer_2'] });
  });

  test.each([
    ['60s', 60],
    ['30m', 1_800],
    ['1h', 3_600],
    ['30d', 2_592_000],
  ])('%s are %i seconds', (text, seconds) => {
    expect(parseTokenArguments(['--subject', 'a', '--scope', 'tax', '--expires-in', text]).expiresInSeconds).toBe(
      seconds,
    );
  });

  test.each(['31d', '0s', '1', 'h', '-1h', '1.5h'])('a life of %s is refused', (text) => {
    expect(refusal('--subject', 'a', '--scope', 'tax', `--expires-in=${text}`)).toMatch(/--expires-in/);
  });

  test('help is asked for in both usual ways', () => {
    expect([['--help'], ['--subject', 'a', '-h'], ['--subject', 'help'], []].map(asksForHelp)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test('what is missing or unknown is named', () => {
    expect(refusal('--scope', 'tax')).toMatch(/--subject/);
    expect(refusal('--subject', 'a')).toMatch(/--scope is needed/);
    expect(refusal('--subject', 'a', '--scope', 'tax,everything')).toBe('There is no scope everything');
    expect(refusal('--subject', 'a', '--scope', 'tax', '--merchants', '')).toMatch(/--merchants/);
    expect(refusal('--subject', 'a', '--scope', 'tax', '--merchants', 'mer_1,*')).toMatch(/--merchants/);
    expect(refusal('--subject', 'a', '--scope', 'tax', '--colour', 'red')).toMatch(/--colour/);
    expect(refusal('--subject', 'a', '--scope', 'tax', 'stray')).toMatch(/stray/);
  });
});
