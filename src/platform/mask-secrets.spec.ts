import { createLogger } from './logging';

describe('a log line', () => {
  function line(fields: object, message = 'm'): string {
    let written = '';
    const log = createLogger(
      { level: 'info', role: 'all', version: '4.0.0' },
      { write: (text: string) => void (written += text) },
    );
    log.info(fields, message);
    return written;
  }
  const jwt = `eyJhbGciOiJFUzI1NiJ9.${'a'.repeat(30)}.${'b'.repeat(30)}`;

  it('is one JSON object with role, version and level', () => {
    expect(JSON.parse(line({ lane: 'tax' }, 'hello'))).toMatchObject({
      level: 'info',
      role: 'all',
      version: '4.0.0',
      lane: 'tax',
      message: 'hello',
    });
  });

  it('never holds a card token, a JWT, credentials or an amount in clear (contract 7)', () => {
    const text = line(
      {
        body: { items: [{ card_token: 'card_demo_usd_0001', amount_minor: 12_345, captured_minor: 99_887 }] },
        headers: { Authorization: `Bearer ${jwt}`, cookie: 'session=abc123456' },
        note: `sent ${jwt}`,
        url: 'postgres://tax_app:hunter22@127.0.0.1/payment_core',
      },
      'card_demo_usd_0001 was refused',
    );
    for (const secret of ['card_demo_usd_0001', '12345', '99887', jwt, 'abc123456', 'hunter22']) {
      expect(text).not.toContain(secret);
    }
    expect(() => JSON.parse(text) as unknown).not.toThrow();
  });

  it('says of an error what went wrong, and not the row that PostgreSQL quotes', () => {
    const error = Object.assign(new Error('duplicate key value'), {
      code: '23505',
      constraint: 'cards_pkey',
      detail: 'Key (token)=(tok-4711) already exists.',
      parameters: ['tok-4711'],
    });
    const { err } = JSON.parse(line({ err: error })) as { err: Record<string, unknown> };
    expect(err).toMatchObject({
      type: 'Error',
      message: 'duplicate key value',
      code: '23505',
      constraint: 'cards_pkey',
    });
    expect(JSON.stringify(err)).not.toContain('tok-4711');
  });

  it('leaves names that are no card tokens alone', () => {
    expect(line({ datasource: 'card_auth_ds', role: 'card_auth_app' })).toContain('card_auth_ds');
  });
});
