import { COUNTRIES } from '../../../shared/country';
import { isCurrency } from '../../../shared/money';

/** Attempts of a card that are looked at, newest first: counts end here, so that a busy card costs no more than this. */
export const ATTEMPTS_READ_MAX = 250;

export const RISKS = ['LOW', 'MEDIUM', 'HIGH', 'UNKNOWN'] as const;
export type Risk = (typeof RISKS)[number];

export interface NumberFact {
  readonly type: 'number';
  /** Never a fraction. */
  readonly whole?: true;
  readonly min: number;
  readonly max: number;
  /** Amounts are told to nobody but the engine. */
  readonly masked?: true;
  readonly meaning: string;
}

interface ChoiceFact {
  readonly type: 'choice';
  /** Whether the fact can ever be this. */
  readonly allows: (value: string) => boolean;
  /** What it is, for people: "… is one of". */
  readonly form: string;
  readonly meaning: string;
}

interface FlagFact {
  readonly type: 'flag';
  readonly meaning: string;
}

export type FactKind = NumberFact | ChoiceFact | FlagFact;

function count(meaning: string): NumberFact {
  return { type: 'number', whole: true, min: 0, max: ATTEMPTS_READ_MAX, meaning };
}

function risk(meaning: string): ChoiceFact {
  return { type: 'choice', allows: (value) => RISKS.some((each) => each === value), form: RISKS.join(', '), meaning };
}

/**
 * All that a rule may look at. Windows end with the payment's own moment; an attempt is an evaluation that was stored,
 * whatever it advised, and counts do not include the payment that is being judged.
 */
export const factTable = {
  amount_minor: {
    type: 'number',
    whole: true,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    masked: true,
    meaning: 'the amount in minor units',
  },
  currency: {
    type: 'choice',
    allows: isCurrency,
    form: 'the ISO 4217 codes that have a minor unit',
    meaning: 'ISO 4217 code',
  },
  country: {
    type: 'choice',
    allows: (code: string) => COUNTRIES.has(code),
    form: 'the ISO 3166-1 alpha-2 codes',
    meaning: 'ISO 3166-1 alpha-2 code',
  },
  country_risk: risk('what country_risks says'),
  merchant_risk: risk('what merchant_risks says'),
  card_new: { type: 'flag', meaning: 'the card has never been seen before' },
  card_age_hours: {
    type: 'number',
    min: 0,
    max: 1_000_000,
    meaning: 'since the card was first seen; 0 for a new one',
  },
  card_attempts_5m: count('attempts with the card in 5 minutes'),
  card_attempts_1h: count('attempts with the card in an hour'),
  card_attempts_24h: count('attempts with the card in 24 hours'),
  card_declines_24h: count('attempts with the card that were advised against in 24 hours'),
  card_merchants_1h: count('other merchants that the card was used at in an hour'),
  card_countries_24h: count('other countries that the card was used in, in 24 hours'),
  country_new: { type: 'flag', meaning: 'the card is known, and not from this country, in 90 days' },
  amount_samples: count('attempts with the card in this currency in 90 days, without those that were advised against'),
  amount_to_usual: {
    type: 'number',
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    meaning: 'the amount, divided by the average of those samples; 0 without any',
  },
} as const satisfies Record<string, FactKind>;

export type FactName = keyof typeof factTable;

type ValueOf<Kind> = Kind extends { type: 'number' } ? number : Kind extends { type: 'flag' } ? boolean : string;
export type Facts = { readonly [Name in FactName]: ValueOf<(typeof factTable)[Name]> };

export function isFactName(name: string): name is FactName {
  return Object.hasOwn(factTable, name);
}

const MASK = '****';

/** A fact as reasons show it: amounts masked, ratios to a tenth, so that an amount cannot be had from one. */
export function shownFact(name: FactName, facts: Facts): number | string | boolean {
  const kind: FactKind = factTable[name];
  const value = facts[name];
  if (kind.type === 'number' && kind.masked === true) return MASK;
  return typeof value === 'number' ? Math.round(value * 10) / 10 : value;
}
