import { describeSettings, maskSetting, readSettings, SettingsError } from './environment';
import { backgroundInUseMax, LANES, laneTable } from './lanes';

const usable = {
  DATABASE_URL: 'postgres://admin:s3cret@127.0.0.1:5432/payment_core',
  REDIS_URL: 'redis://127.0.0.1:6379',
  JWKS_FILE: '/etc/payment-core/jwks.json',
  OPERATOR_PASSWORD: 'open-sesame',
  FRAUD_FINGERPRINT_KEY: 'fingerprint-'.repeat(3),
};

function faultsOf(source: Record<string, string>): SettingsError['faults'] {
  try {
    readSettings(source, '0.0.0');
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
  return [];
}

describe('settings', () => {
  it('takes the figures of the lane table when nothing is set', () => {
    const settings = readSettings(usable, '4.0.0');
    expect(settings.role).toBe('all');
    expect(settings.port).toBe(3000);
    expect(LANES.map((lane) => settings.lanes[lane].bulkhead.permits)).toEqual([75, 30, 15, 8]);
    expect(LANES.map((lane) => settings.lanes[lane].datasource.connections)).toEqual([40, 15, 5, 12]);
    expect(LANES.map((lane) => settings.lanes[lane].bulkhead.queueMax)).toEqual([10, 5, 0, 0]);
  });

  it('is frozen all the way down', () => {
    const settings = readSettings(usable, '4.0.0');
    expect(Object.isFrozen(settings)).toBe(true);
    expect(Object.isFrozen(settings.lanes.tax.bulkhead)).toBe(true);
    expect(() => Object.assign(settings.lanes.tax.bulkhead, { permits: 99 })).toThrow(TypeError);
  });

  it('changes one lane and no other', () => {
    const settings = readSettings(
      { ...usable, LANE_FRAUD_PERMITS: '7', LANE_FRAUD_QUEUE: '2', LANE_FRAUD_POOL: '3' },
      '4.0.0',
    );
    expect(settings.lanes.fraud.bulkhead).toMatchObject({ permits: 7, queueMax: 2 });
    expect(settings.lanes.fraud.datasource.connections).toBe(3);
    expect(settings.lanes.authorization.bulkhead).toMatchObject({ permits: 75, queueMax: 10 });
  });

  it('gives each lane its own login on a server that is named once', () => {
    const settings = readSettings(usable, '4.0.0');
    const users = LANES.map((lane) => new URL(settings.lanes[lane].databaseUrl ?? '').username);
    expect(users).toEqual(['card_auth_app', 'fraud_app', 'tax_app', 'ledger_app']);
    const passwords = new Set(LANES.map((lane) => new URL(settings.lanes[lane].databaseUrl ?? '').password));
    expect(passwords.size).toBe(4);
    expect(passwords).not.toContain('s3cret');
  });

  it('names every wrong setting at once, with its value and what would be right', () => {
    const faults = faultsOf({ ...usable, PORT: 'http', LANE_AUTHORIZATION_PERMITS: '0', PAYMENT_ROLE: 'cards' });
    expect(faults.map(({ name, value }) => `${name}=${value}`).sort()).toEqual([
      'LANE_AUTHORIZATION_PERMITS=0',
      'PAYMENT_ROLE=cards',
      'PORT=http',
    ]);
    expect(faults.find(({ name }) => name === 'PAYMENT_ROLE')?.expected).toContain('authorization, fraud, tax, ledger');
  });

  it.each([
    [{ LANE_AUTHORISATION_PERMITS: '80' }, 'LANE_AUTHORISATION_PERMITS'],
    [{ PORT_CARDS: '3001' }, 'PORT_CARDS'],
    [{ DATABASE_URL_CARDS: 'postgres://a:b@127.0.0.1/x' }, 'DATABASE_URL_CARDS'],
    [{ LANE_TAX_QUEUE: '1' }, 'LANE_TAX_QUEUE'],
    [{ LANE_FRAUD_QUEUE_WAIT_MS: '0' }, 'LANE_FRAUD_QUEUE_WAIT_MS'],
    [{ PAYMENT_FAULTS: '1', NODE_ENV: 'production', TAX_PROVIDER_URL: 'https://tax.example' }, 'PAYMENT_FAULTS'],
    [{ NODE_ENV: 'production' }, 'TAX_PROVIDER_URL'],
    [{ TAX_PROVIDER_URL: 'tax.example' }, 'TAX_PROVIDER_URL'],
    [{ TAX_PROVIDER_TIMEOUT_MS: '0' }, 'TAX_PROVIDER_TIMEOUT_MS'],
    [{ JWKS_URL: 'https://id.example.com/jwks.json' }, 'JWKS_URL'],
    [{ DATABASE_URL_TAX: 'mysql://127.0.0.1/x' }, 'DATABASE_URL_TAX'],
    [{ LANE_LEDGER_EXECUTION_MS: '1e4' }, 'LANE_LEDGER_EXECUTION_MS'],
  ])('refuses %j', (change, name) => {
    expect(faultsOf({ ...usable, ...change }).map((fault) => fault.name)).toEqual([name]);
  });

  describe('the key of the card fingerprints', () => {
    const { FRAUD_FINGERPRINT_KEY: _given, ...without } = usable;

    it.each([
      ['x'.repeat(31), ['FRAUD_FINGERPRINT_KEY']],
      ['x'.repeat(32), []],
      ['x'.repeat(33), []],
    ])('%s: %j', (key, faults) => {
      expect(faultsOf({ ...without, FRAUD_FINGERPRINT_KEY: key }).map(({ name }) => name)).toEqual(faults);
    });

    it('is shown to nobody', () => {
      const [fault] = faultsOf({ ...without, FRAUD_FINGERPRINT_KEY: 'too short' });
      expect(fault?.value).toBe('****');
      const described = JSON.stringify(describeSettings(readSettings(usable, '4.0.0')));
      expect(described).not.toContain('fingerprint-');
      expect(described).toContain('"fingerprintKey":"****"');
    });

    it('is demanded in production of the process that hosts the lane, and made of the login elsewhere', () => {
      const production = { ...without, NODE_ENV: 'production' };
      expect(faultsOf(production).map(({ name }) => name)).toEqual(['FRAUD_FINGERPRINT_KEY']);
      expect(faultsOf({ ...production, PAYMENT_ROLE: 'fraud' }).map(({ name }) => name)).toEqual([
        'FRAUD_FINGERPRINT_KEY',
      ]);
      expect(faultsOf({ ...production, PAYMENT_ROLE: 'tax' })).toEqual([]);
      const [first, second, other] = [
        without,
        { ...without, PAYMENT_ROLE: 'fraud' },
        { ...without, DATABASE_URL: 'postgres://admin:other@127.0.0.1:5432/payment_core' },
      ].map((source) => readSettings(source, '4.0.0').fraud.fingerprintKey);
      expect(first?.length).toBeGreaterThanOrEqual(32);
      expect([second === first, other === first]).toEqual([true, false]);
      expect(readSettings({ ...without, PAYMENT_ROLE: 'tax' }, '4.0.0').fraud.fingerprintKey).toBeNull();
    });

    it('has no misspelt sister', () => {
      expect(faultsOf({ ...usable, FRAUD_FINGERPRINT_KEYS: 'x' }).map(({ name }) => name)).toEqual([
        'FRAUD_FINGERPRINT_KEYS',
      ]);
    });
  });

  it('asks for the database and Redis of hosted lanes only', () => {
    const names = faultsOf({ PAYMENT_ROLE: 'tax', JWKS_FILE: 'x' }).map(({ name }) => name);
    expect(names.sort()).toEqual(['DATABASE_URL_TAX', 'REDIS_URL_TAX']);
    expect(faultsOf({ PAYMENT_ROLE: 'operator', JWKS_FILE: 'x' })).toEqual([]);
  });

  it('never prints a secret', () => {
    const faults = faultsOf({ ...usable, DATABASE_URL: 'mysql://admin:s3cret@127.0.0.1/x' });
    expect(faults[0]?.value).toBe('mysql://admin:****@127.0.0.1/x');
    expect(maskSetting('OPERATOR_PASSWORD', 'open-sesame')).toBe('****');
    const shown = JSON.stringify(describeSettings(readSettings(usable, '4.0.0')));
    expect(shown).not.toContain('s3cret');
    expect(shown).not.toContain('open-sesame');
    for (const lane of LANES) {
      const url = new URL(readSettings(usable, '4.0.0').lanes[lane].databaseUrl ?? '');
      expect(shown).not.toContain(url.password);
    }
  });

  it('uses the ports of the isolated topology for one-lane roles', () => {
    const port = (role: string, more = {}): number =>
      readSettings({ ...usable, PAYMENT_ROLE: role, ...more }, '4.0.0').port;
    expect(['operator', 'authorization', 'fraud', 'tax', 'ledger'].map((role) => port(role))).toEqual([
      3000, 3001, 3002, 3003, 3004,
    ]);
    expect(port('tax', { PORT: '4000', PORT_TAX: '4003' })).toBe(4003);
    expect(port('tax', { PORT: '4000' })).toBe(4000);
  });
});

describe('permits that a lane lends its own workers', () => {
  it.each([
    ['authorization', 45],
    ['fraud', 15],
    ['tax', 7],
  ] as const)('%s: in use may reach %i, the worker included', (lane, expected) => {
    const { permits, background } = laneTable[lane].bulkhead;
    expect(backgroundInUseMax(permits, background)).toBe(expected);
  });
});
