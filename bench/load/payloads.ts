/** One request before it is sent. The key stays with it over all its retries. */
export interface RequestDraft {
  /** `Idempotency-Key`: printable ASCII, unique within the run. */
  key: string;
  /** Empty for a request without a body. */
  body: string;
  /** Instead of the target's own path, as for reads of single objects. */
  path?: string;
}

/** Makes the draft of request `index` (0, 1, 2 …) when it is due, so it has to be cheap. */
export type PayloadFactory = (index: number) => RequestDraft;

/** Uniform in 0 … 1; the same seed gives the same requests (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const CARDS = 1_000;
const MERCHANTS = 50;
const AMOUNT_MINOR_MIN = 100;
const AMOUNT_MINOR_SPAN = 99_900;

const cardTokens = numbered('card_demo_usd_', CARDS);
const merchantIds = numbered('mer_demo_', MERCHANTS);
const shipTo = [
  { country: 'US', region: 'CA', postal_code: '90002' },
  { country: 'US', region: 'NY', postal_code: '10001' },
  { country: 'US', region: 'TX', postal_code: '78701' },
  { country: 'US', region: 'WA', postal_code: '98101' },
  { country: 'US', region: 'FL', postal_code: '33101' },
].map((address) => JSON.stringify(address));

/** Cards, merchants and amounts are drawn at random, so cards meet as they do in traffic and no purchase is another's repeat. */
export function authorizationPayloads(keyPrefix: string, seed = 1): PayloadFactory {
  const random = seededRandom(seed);
  return (index) => ({
    key: `${keyPrefix}-${index}`,
    body: `{"merchant_id":"${pick(merchantIds, random)}","card_token":"${pick(cardTokens, random)}","amount_minor":${amountMinor(random)},"currency":"USD"}`,
  });
}

export function fraudEvaluationPayloads(keyPrefix: string, seed = 2): PayloadFactory {
  const random = seededRandom(seed);
  return (index) => ({
    key: `${keyPrefix}-${index}`,
    body: `{"merchant_id":"${pick(merchantIds, random)}","card_token":"${pick(cardTokens, random)}","amount_minor":${amountMinor(random)},"currency":"USD","country":"US"}`,
  });
}

export function taxQuotePayloads(keyPrefix: string, seed = 3): PayloadFactory {
  const random = seededRandom(seed);
  return (index) => ({
    key: `${keyPrefix}-${index}`,
    body: `{"currency":"USD","ship_to":${pick(shipTo, random)},"lines":[{"id":"1","amount_minor":${amountMinor(random)}}],"shipping_minor":500}`,
  });
}

/** The factories that a plan file or the command line can name. */
export const namedPayloads: Readonly<Record<string, (keyPrefix: string) => PayloadFactory>> = {
  authorizations: authorizationPayloads,
  'fraud-evaluations': fraudEvaluationPayloads,
  'tax-quotes': taxQuotePayloads,
};

function amountMinor(random: () => number): number {
  return AMOUNT_MINOR_MIN + Math.floor(random() * AMOUNT_MINOR_SPAN);
}

function pick(values: readonly string[], random: () => number): string {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('nothing to pick from');
  return value;
}

function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${String(index + 1).padStart(4, '0')}`);
}
