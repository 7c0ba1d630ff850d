import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { FakeClock } from '../../test/support/fake-clock';
import { systemClock } from '../platform/system-clock';
import type { Caller } from './caller';
import { TokenVerifier } from './identity';
import { startEdgeServer } from './testing/edge-server';
import { RawClient } from './testing/raw-client';

interface Key {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function makeKey(kid: string, alg: string): Promise<Key> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

const now = (): number => Math.floor(Date.now() / 1000);

function claims(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    sub: 'checkout',
    scope: 'authorizations tax',
    merchants: ['mer_1'],
    iss: 'issuer',
    aud: 'audience',
    exp: now() + 600,
    ...changes,
  };
}

function sign(key: Key, payload: Record<string, unknown> = claims()): Promise<string> {
  return new SignJWT(payload).setProtectedHeader({ alg: key.alg, kid: key.kid }).sign(key.privateKey);
}

const settings = (keys: { file: string } | { url: string }) => ({ keys, issuer: 'issuer', audience: 'audience' });

describe('who sent a request (contract 8)', () => {
  let es256: Key;
  let eddsa: Key;
  let folder: string;
  let file: string;
  let verifier: TokenVerifier;
  const write = (...keys: Key[]): void => writeFileSync(file, JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));

  beforeAll(async () => {
    [es256, eddsa] = await Promise.all([makeKey('es', 'ES256'), makeKey('ed', 'EdDSA')]);
  });
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'identity-'));
    file = join(folder, 'jwks.json');
    write(es256, eddsa);
    verifier = new TokenVerifier(settings({ file }), systemClock, { keySetLimits: { cooldownMs: 0 } });
    await verifier.start();
  });
  afterEach(() => {
    verifier.close();
    rmSync(folder, { recursive: true });
  });

  it('ES256 and EdDSA tokens name their caller; the second time without a promise', async () => {
    for (const key of [es256, eddsa]) {
      const token = await sign(key);
      const caller: Caller = {
        subject: 'checkout',
        scopes: new Set(['authorizations', 'tax']),
        merchants: new Set(['mer_1']),
      };
      expect(await verifier.verify(token)).toEqual(caller);
      expect(verifier.verify(token)).toEqual(caller);
    }
  });

  it('a burst under one new token is one verification', async () => {
    const token = await sign(es256);
    const all = Array.from({ length: 50 }, () => verifier.verify(token));
    expect(new Set(all).size).toBe(1);
    expect(await all[0]).not.toBeNull();
  });

  it.each([
    ['expired', { exp: now() - 6 }],
    ['without exp', { exp: undefined }],
    ['without sub', { sub: undefined }],
    ['with an empty sub', { sub: '' }],
    ['with a sub that is no text', { sub: 7 }],
    ['with NUL in its sub', { sub: 'check\0out' }],
    ['of another issuer', { iss: 'other' }],
    ['without issuer', { iss: undefined }],
    ['for another audience', { aud: 'other' }],
    ['without audience', { aud: undefined }],
    ['not valid yet', { nbf: now() + 60 }],
    ['with scopes as a list', { scope: ['tax'] }],
    ['with merchants of a wrong type', { merchants: 'mer_1' }],
    ['with merchants that are no texts', { merchants: [1] }],
  ])('a token %s is none', async (_name, changes) => {
    const payload = JSON.parse(JSON.stringify(claims(changes))) as Record<string, unknown>;
    expect(await verifier.verify(await sign(es256, payload))).toBeNull();
  });

  it('forgives clocks that differ by up to five seconds', async () => {
    expect(await verifier.verify(await sign(es256, claims({ exp: now() - 3 })))).not.toBeNull();
  });

  it('merchants: a list, `*`, and none where the claim is missing', async () => {
    const merchantsOf = async (merchants: unknown): Promise<unknown> =>
      (
        await verifier.verify(
          await sign(es256, JSON.parse(JSON.stringify(claims({ merchants }))) as Record<string, unknown>),
        )
      )?.merchants;
    expect(await merchantsOf(['a', 'b'])).toEqual(new Set(['a', 'b']));
    expect(await merchantsOf('*')).toBe('*');
    expect(await merchantsOf(undefined)).toEqual(new Set());
    expect(await merchantsOf([])).toEqual(new Set());
    expect(await merchantsOf(['*'])).toEqual(new Set(['*']));
  });

  it('refuses every algorithm but the two, and forged signatures', async () => {
    const rs256 = await makeKey('rs', 'RS256');
    write(es256, rs256);
    await verifier.verify(await sign(rs256));
    const pem = new TextEncoder().encode(await exportSPKI(es256.publicKey));
    const hs256 = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'es' }).sign(pem);
    const [header, payload] = (await sign(es256)).split('.') as [string, string];
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const other = await makeKey('es', 'ES256');
    const good = await sign(es256);
    const tampered = `${header}.${Buffer.from(JSON.stringify(claims({ sub: 'root' }))).toString('base64url')}.${good.split('.')[2]}`;
    for (const token of [
      await sign(rs256),
      hs256,
      none,
      await sign(other),
      tampered,
      'garbage',
      'a.b.c',
      'x'.repeat(9_000),
    ]) {
      expect(await verifier.verify(token)).toBeNull();
      // Nothing bad is remembered as good.
      expect(await verifier.verify(token)).toBeNull();
    }
  });

  it('a remembered token ends when it expires', async () => {
    let wallMs = Date.now();
    const timed = new TokenVerifier(settings({ file }), systemClock, { wallNowMs: () => wallMs });
    await timed.start();
    const token = await sign(es256, claims({ exp: Math.floor(wallMs / 1000) + 10 }));
    expect(await timed.verify(token)).not.toBeNull();
    wallMs += 14_000;
    expect(timed.verify(token)).not.toBeNull();
    wallMs += 2_000;
    expect(await timed.verify(token)).toBeNull();
    timed.close();
  });

  it('a key that comes into the file is known when a token asks for it; one that goes takes its tokens along', async () => {
    const next = await makeKey('next', 'ES256');
    const [oldToken, newToken] = [await sign(es256), await sign(next)];
    expect(await verifier.verify(oldToken)).not.toBeNull();
    expect(await verifier.verify(newToken)).toBeNull();
    write(next);
    expect(await verifier.verify(newToken)).not.toBeNull();
    expect(await verifier.verify(oldToken)).toBeNull();
  });

  it('the file is looked at again from time to time, and a broken one keeps the last keys', async () => {
    const clock = new FakeClock();
    const failures: string[] = [];
    const timed = new TokenVerifier(settings({ file }), clock, {
      onKeySetFailure: ({ message }) => failures.push(message),
    });
    await timed.start();
    const token = await sign(es256);
    expect(await timed.verify(token)).not.toBeNull();
    writeFileSync(file, '{ broken');
    clock.advance(5_000);
    await untilTrue(() => failures.length === 1);
    expect(await timed.verify(await sign(es256, claims({ sub: 'other' })))).not.toBeNull();
    write(eddsa);
    clock.advance(5_000);
    await untilTrue(async () => (await timed.verify(token)) === null);
    timed.close();
    expect(clock.armed).toBe(0);
  });

  describe('with the keys at a URL', () => {
    let server: Server;
    let asked = 0;
    let answer: () => { status: number; body: string } = () => ({ status: 200, body: '' });
    const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
    const keys = (...given: Key[]): string => JSON.stringify({ keys: given.map(({ jwk }) => jwk) });
    beforeEach(async () => {
      asked = 0;
      server = createServer((_request, response) => {
        asked += 1;
        const { status, body } = answer();
        if (status === 0) return;
        response.writeHead(status).end(body);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });
    afterEach(() => {
      server.closeAllConnections();
      server.close();
    });

    it('a dead URL is no reason not to start; tokens are refused until it lives, and good from then on', async () => {
      answer = () => ({ status: 503, body: 'later' });
      const clock = new FakeClock();
      const remote = new TokenVerifier(settings({ url: url() }), clock);
      await remote.start();
      const token = await sign(es256);
      expect(remote.ready).toBe(false);
      expect(await remote.verify(token)).toBeNull();
      answer = () => ({ status: 200, body: keys(es256) });
      clock.advance(5_000);
      await untilTrue(() => remote.ready);
      expect(await remote.verify(token)).not.toBeNull();
      answer = () => ({ status: 500, body: '' });
      clock.advance(300_000);
      await untilTrue(() => asked >= 3);
      expect(await remote.verify(await sign(es256, claims({ sub: 'late' })))).not.toBeNull();
      remote.close();
    });

    it('made-up key ids cost the issuer one request per cool-down', async () => {
      answer = () => ({ status: 200, body: keys(es256) });
      const clock = new FakeClock();
      const remote = new TokenVerifier(settings({ url: url() }), clock);
      await remote.start();
      clock.advance(5_000);
      const strangers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => makeKey(`made-up-${index}`, 'EdDSA')),
      );
      for (const key of strangers) expect(await remote.verify(await sign(key))).toBeNull();
      expect(asked).toBe(2);
      remote.close();
    });

    it('an answer that does not end, redirects or is too long is given up', async () => {
      const failures: string[] = [];
      const limits = { fetchMsMax: 100, cooldownMs: 0, bytesMax: 1_000 };
      const remote = new TokenVerifier(settings({ url: url() }), systemClock, {
        onKeySetFailure: ({ message }) => failures.push(message),
        keySetLimits: limits,
      });
      answer = () => ({ status: 0, body: '' });
      await remote.start();
      answer = () => ({ status: 302, body: '' });
      await remote.verify(await sign(es256));
      answer = () => ({ status: 200, body: ' '.repeat(2_000) });
      await remote.verify(await sign(es256));
      expect(failures.length).toBeGreaterThanOrEqual(3);
      expect(remote.ready).toBe(false);
      remote.close();
    });
  });

  it('on the wire: each way to be nobody is 401 with its challenge', async () => {
    const server = await startEdgeServer({ verify: (token) => verifier.verify(token) });
    const token = await sign(es256, claims({ scope: 'orders' }));
    const ask = async (lines: readonly string[]): Promise<[number, string | undefined, unknown]> => {
      const client = new RawClient(server.port());
      client.send(['GET /v1/orders/7 HTTP/1.1', 'host: x', ...lines, '', ''].join('\r\n'));
      const answer = await client.answer();
      client.end();
      return [answer.status, answer.headers['www-authenticate'], answer.json()['code']];
    };
    expect(await ask([`authorization: Bearer ${token}`])).toEqual([200, undefined, undefined]);
    expect(await ask([`authorization: bearer ${token}`])).toEqual([200, undefined, undefined]);
    const nobody = [401, 'Bearer', 'ERR_UNAUTHENTICATED'];
    expect(await ask([])).toEqual(nobody);
    for (const value of [token, 'Bearer', 'Bearer ', `Bearer ${token} more`, 'Basic b3BlcmF0b3I6eA==', 'Bearer ü']) {
      expect(await ask([`authorization: ${value}`])).toEqual(nobody);
    }
    expect(await ask([`authorization: Bearer ${token}`, `Authorization: Bearer ${token}`])).toEqual(nobody);
    const scopeless = await sign(es256, claims({ scope: 'tax' }));
    expect(await ask([`authorization: Bearer ${scopeless}`])).toEqual([403, undefined, 'ERR_FORBIDDEN']);
    await server.close();
  });
});

async function untilTrue(holds: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + 5_000;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error('It never came about');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
