import { readScriptEnvironment } from './script-environment';

describe('what the scripts take from the environment', () => {
  test('nothing given: everything is embedded, with demo data', () => {
    expect(readScriptEnvironment({})).toMatchObject({
      postgresEmbedded: true,
      redisEmbedded: true,
      keysEmbedded: true,
      demoData: true,
      databaseUrl: null,
      dataFolder: expect.stringMatching(/\.data$/) as string,
    });
  });

  test.each([
    ['DATABASE_URL', { postgresEmbedded: false, redisEmbedded: true }],
    ['DATABASE_URL_TAX', { postgresEmbedded: false, redisEmbedded: true }],
    ['REDIS_URL', { postgresEmbedded: true, redisEmbedded: false }],
    ['REDIS_URL_LEDGER', { postgresEmbedded: true, redisEmbedded: false }],
    ['JWKS_URL', { postgresEmbedded: true, redisEmbedded: true, keysEmbedded: false }],
  ])('%s given: it is not embedded', (name, expected) => {
    expect(readScriptEnvironment({ [name]: 'given://' })).toMatchObject(expected);
  });

  test('an empty value is none', () => {
    expect(readScriptEnvironment({ DATABASE_URL: ' ', REDIS_URL: '' })).toMatchObject({
      postgresEmbedded: true,
      redisEmbedded: true,
    });
  });

  test('somebody’s own server gets demo data on demand only', () => {
    expect(readScriptEnvironment({ DATABASE_URL: 'postgres://a/b' }).demoData).toBe(false);
    expect(readScriptEnvironment({ DATABASE_URL: 'postgres://a/b', PAYMENT_DEMO_DATA: '1' }).demoData).toBe(true);
  });
});
