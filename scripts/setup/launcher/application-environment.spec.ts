import type { SecretsWithKeys } from '../secrets';
import { readScriptEnvironment } from '../script-environment';
import { applicationEnvironment } from './application-environment';

const secrets: SecretsWithKeys = {
  postgresPassword: 'admin-secret',
  redisPassword: 'redis-secret',
  operatorPassword: 'generated',
  signingKey: { privateJwk: {}, publicJwk: {} },
  jwksFile: '/data/jwks.json',
  fraudFingerprintKey: 'fingerprint-secret',
};
const SERVER = 'postgres://postgres:admin-secret@127.0.0.1:5432/payment_core';
const REDIS = 'redis://:redis-secret@127.0.0.1:6379';

describe('what the application is given', () => {
  test('embedded: a login per lane, Redis, keys and the usual settings', () => {
    const result = applicationEnvironment(readScriptEnvironment({ PORT: '3100' }), secrets, SERVER, REDIS);
    expect(result).toMatchObject({
      PORT: '3100',
      HOST: '127.0.0.1',
      NODE_ENV: 'development',
      OPERATOR_PASSWORD: 'generated',
      FRAUD_FINGERPRINT_KEY: 'fingerprint-secret',
      JWKS_FILE: '/data/jwks.json',
      REDIS_URL: REDIS,
    });
    const logins = ['AUTHORIZATION', 'FRAUD', 'TAX', 'LEDGER'].map(
      (lane) => new URL(result[`DATABASE_URL_${lane}`] ?? '').username,
    );
    expect(logins).toEqual(['card_auth_app', 'fraud_app', 'tax_app', 'ledger_app']);
  });

  test('an administrator’s login reaches it under no name', () => {
    const given = readScriptEnvironment({ DATABASE_URL: SERVER, MIGRATION_DATABASE_URL: SERVER });
    const result = applicationEnvironment(given, secrets, SERVER, REDIS);
    expect(JSON.stringify(result)).not.toContain('admin-secret');
  });

  test('the key of this folder is for this folder’s database, and gives way to one that is given', () => {
    const elsewhere = applicationEnvironment(readScriptEnvironment({ DATABASE_URL: SERVER }), secrets, SERVER, REDIS);
    expect(elsewhere).not.toHaveProperty('FRAUD_FINGERPRINT_KEY');
    const given = readScriptEnvironment({ FRAUD_FINGERPRINT_KEY: 'chosen' });
    expect(applicationEnvironment(given, secrets, SERVER, REDIS)['FRAUD_FINGERPRINT_KEY']).toBe('chosen');
  });

  test('what is given is kept: a lane’s own database, the password, the keys', () => {
    const own = 'postgres://tax_app:x@tax-server/tax';
    const given = {
      DATABASE_URL_TAX: own,
      OPERATOR_PASSWORD: 'chosen',
      JWKS_URL: 'https://id',
      NODE_ENV: 'production',
    };
    const result = applicationEnvironment(readScriptEnvironment(given), secrets, null, null);
    expect(result).toMatchObject(given);
    expect(result).not.toHaveProperty('JWKS_FILE');
    expect(result).not.toHaveProperty('DATABASE_URL_FRAUD');
  });
});
