import { createLocalJWKSet, jwtVerify } from 'jose';
import { generateSigningKey, SCOPES, signToken } from './tokens';

const claims = {
  subject: 'checkout',
  scopes: ['authorizations', 'tax'],
  merchants: ['mer_demo_0001'],
  issuer: 'payment-core',
  audience: 'payment-core',
  expiresInSeconds: 60,
};

describe('a token', () => {
  test('is good for whoever has the public key only, and says what contract 8 wants', async () => {
    const key = await generateSigningKey();
    const token = await signToken(key.privateJwk, claims);
    const verified = await jwtVerify(token, createLocalJWKSet({ keys: [key.publicJwk] }), {
      issuer: 'payment-core',
      audience: 'payment-core',
      algorithms: ['ES256'],
    });
    expect(verified.protectedHeader.kid).toBe(key.publicJwk.kid);
    expect(verified.payload).toMatchObject({
      sub: 'checkout',
      scope: 'authorizations tax',
      merchants: ['mer_demo_0001'],
    });
    expect((verified.payload.exp ?? 0) - (verified.payload.iat ?? 0)).toBe(60);
  });

  test('of another key is not', async () => {
    const token = await signToken((await generateSigningKey()).privateJwk, claims);
    const other = createLocalJWKSet({ keys: [(await generateSigningKey()).publicJwk] });
    await expect(jwtVerify(token, other)).rejects.toThrow();
  });

  test('the public half holds nothing private', async () => {
    const { privateJwk, publicJwk } = await generateSigningKey();
    expect(privateJwk.d).toEqual(expect.any(String));
    expect(publicJwk).not.toHaveProperty('d');
  });

  test('scopes are those of the lanes and the operators', () => {
    expect(SCOPES).toEqual(['authorizations', 'fraud', 'tax', 'ledger', 'operator']);
  });
});
