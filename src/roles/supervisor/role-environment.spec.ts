import { readSettings, SettingsError } from '../../../config/environment';
import { assertUsable, environmentOf, portsOf, type Source } from './role-environment';
import { SUPERVISED_ROLES } from './role-table';

const usable: Source = {
  PATH: '/bin',
  DATABASE_URL: 'postgres://admin:all-powerful@db/payment_core',
  DATABASE_URL_TAX: 'postgres://tax_app:tax-secret@tax-db/tax',
  REDIS_URL: 'redis://redis',
  REDIS_URL_AUTHORIZATION: 'redis://cards-redis',
  JWKS_FILE: '/jwks.json',
  OPERATOR_PASSWORD: 'chosen',
  TAX_PROVIDER_TOKEN: 'provider-secret',
  MIGRATION_DATABASE_URL: 'postgres://owner:owner-secret@db/payment_core',
  CLOUD_SECRET: 'cloud-secret',
  LANE_FRAUD_PERMITS: '20',
};

function faultsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof SettingsError) return error.faults.map(({ name }) => name);
    throw error;
  }
  return [];
}

describe('ports of the isolated topology', () => {
  const usual = { operator: 3000, authorization: 3001, fraud: 3002, tax: 3003, ledger: 3004 };

  test('are those of the contract', () => {
    expect(portsOf({})).toEqual(usual);
  });

  test('PORT moves all of them and they never meet; PORT_<ROLE> moves one', () => {
    expect(portsOf({ PORT: '4000' })).toEqual({
      operator: 4000,
      authorization: 4001,
      fraud: 4002,
      tax: 4003,
      ledger: 4004,
    });
    expect(portsOf({ PORT_TAX: '9000' })).toEqual({ ...usual, tax: 9000 });
    expect(portsOf({ PORT: '4000', PORT_OPERATOR: '80' })).toMatchObject({ operator: 80, authorization: 4001 });
  });

  test('two on one port, and what is no port, are refused by name', () => {
    expect(faultsOf(() => portsOf({ PORT_TAX: '3002' }))).toEqual(['PORT_TAX']);
    expect(faultsOf(() => portsOf({ PORT_TAX: 'x', PORT_FRAUD: '0' }))).toEqual(['PORT_FRAUD', 'PORT_TAX']);
    expect(faultsOf(() => portsOf({ PORT: '65531' }))).toEqual([]);
    expect(faultsOf(() => portsOf({ PORT: '65532' }))).toEqual(['PORT']);
  });
});

describe('what a process is given', () => {
  test('its own login and no other one; the administrator’s and what nobody listed reach none [ADV-FD-01]', () => {
    for (const role of SUPERVISED_ROLES) {
      const environment = environmentOf(role, usable);
      const logins = Object.keys(environment).filter((name) => name.startsWith('DATABASE_URL'));
      expect(logins).toEqual(role === 'operator' ? [] : [`DATABASE_URL_${role.toUpperCase()}`]);
      expect(JSON.stringify(environment)).not.toMatch(/all-powerful|owner-secret|cloud-secret/);
      expect(JSON.stringify(environment).includes('tax-secret')).toBe(role === 'tax');
      expect('TAX_PROVIDER_TOKEN' in environment).toBe(role === 'tax');
    }
    expect(new URL(environmentOf('fraud', usable)['DATABASE_URL_FRAUD'] ?? '').username).toBe('fraud_app');
  });

  test('Redis of its own lane and of queues that it runs; the operator’s board shows all', () => {
    const redisOf = (role: (typeof SUPERVISED_ROLES)[number]): string[] =>
      Object.keys(environmentOf(role, usable)).filter((name) => name.startsWith('REDIS_URL'));
    expect(redisOf('tax')).toEqual(['REDIS_URL_TAX']);
    expect(redisOf('ledger')).toEqual(['REDIS_URL_AUTHORIZATION', 'REDIS_URL_LEDGER']);
    expect(redisOf('operator')).toHaveLength(4);
    expect(environmentOf('ledger', usable)['REDIS_URL_AUTHORIZATION']).toBe('redis://cards-redis');
  });

  test('the settings read from it are those of its role', () => {
    for (const role of SUPERVISED_ROLES) {
      const settings = readSettings(environmentOf(role, { ...usable, PORT: '4000' }), '1');
      expect(settings).toMatchObject({ role, port: portsOf({ PORT: '4000' })[role] });
      expect(settings.lanes.fraud.bulkhead.permits).toBe(20);
      expect(settings.operatorPassword).toBe('chosen');
    }
  });

  test('the operator’s process finds the lanes where they listen', () => {
    const urlOf = (source: Source): string =>
      readSettings(environmentOf('operator', { ...usable, ...source }), '1').lanes.tax.processUrl;
    expect(urlOf({})).toBe('http://127.0.0.1:3003');
    expect(urlOf({ HOST: '0.0.0.0', PORT_TAX: '9000' })).toBe('http://127.0.0.1:9000');
    expect(urlOf({ HOST: '10.0.0.5' })).toBe('http://10.0.0.5:3003');
    expect(urlOf({ HOST: '::1' })).toBe('http://[::1]:3003');
    expect(urlOf({ LANE_URL_TAX: 'http://tax:3003' })).toBe('http://tax:3003');
  });

  test('every setting that the application knows reaches the processes that need it', () => {
    const asked = new Set<string>();
    const recording = new Proxy<Record<string, string | undefined>>(
      {},
      { get: (_target, name) => void asked.add(String(name)) },
    );
    faultsOf(() => readSettings(recording, '1'));
    const others = [...asked].filter((name) => !name.startsWith('PORT'));
    const everything = Object.fromEntries(others.map((name) => [name, '1']));
    const given = new Set(SUPERVISED_ROLES.flatMap((role) => Object.keys(environmentOf(role, everything))));
    // Each lane gets its own in their place.
    const replaced = ['DATABASE_URL', 'REDIS_URL'];
    expect(others.length).toBeGreaterThan(40);
    expect(others.filter((name) => !given.has(name) && !replaced.includes(name))).toEqual([]);
  });
});

describe('before anything is started', () => {
  test('usable settings pass', () => {
    expect(faultsOf(() => assertUsable(usable, '1'))).toEqual([]);
    expect(faultsOf(() => assertUsable({ ...usable, PORT: '4000', PAYMENT_ROLE: 'tax' }, '1'))).toEqual([]);
  });

  test('what one process would refuse, and names that no process knows, are refused', () => {
    expect(faultsOf(() => assertUsable({ ...usable, LANE_TAX_PERMITS: '0' }, '1'))).toEqual(['LANE_TAX_PERMITS']);
    expect(faultsOf(() => assertUsable({ ...usable, DATABASE_URL_TXA: 'postgres://x@y/z' }, '1'))).toEqual([
      'DATABASE_URL_TXA',
    ]);
    const { JWKS_FILE: _keys, DATABASE_URL: _server, ...rest } = usable;
    expect(faultsOf(() => assertUsable(rest, '1')).sort()).toEqual(
      ['DATABASE_URL_AUTHORIZATION', 'DATABASE_URL_FRAUD', 'DATABASE_URL_LEDGER', 'JWKS_FILE'].sort(),
    );
  });
});
