import { z } from 'zod';
import { rateFromText } from '../../src/lanes/tax/compensation/rate';

const date = z.iso.date();
const jurisdiction = z.string().regex(/^[A-Z]{2}(-[A-Z0-9]{1,3})?$/);
const rate = z.string().refine((text) => /^[01](\.\d{1,6})?$/.test(text), 'a fraction of at most six decimals');

const sourceSchema = z.strictObject({
  /** Who sets or states the rate. */
  authority: z.string().min(1),
  document: z.string().min(1),
  /** Of the document; null where the copy that was read shows none. */
  dated: date.nullable(),
  /** What was read. */
  address: z.url(),
  /** The date of the copy that was read, as it was stored; null where it shows none. */
  stored: date.nullable(),
  /** The authority's own words, somebody's transcription of them, or somebody's report. */
  kind: z.enum(['original', 'transcription', 'report']),
  /** The authority's address as a transcription or report gives it. */
  cites: z.url().nullable(),
});

const figure = { rate, source: z.string(), quoted: z.string().min(1) };
/** Holds from its date on. */
const changeSchema = z.strictObject({ effective: date, ...figure });
const rateSchema = z.strictObject({
  jurisdiction,
  ...figure,
  also: z.array(z.strictObject({ source: z.string(), quoted: z.string().min(1) })).optional(),
  changes: z.array(changeSchema).optional(),
});

export const authoritySchema = z.strictObject({
  version: date,
  sources: z.record(z.string(), sourceSchema),
  rates: z.array(rateSchema).min(1),
  postal_rates: z.array(rateSchema.extend({ postal_code: z.string().min(1), place: z.string().min(1) })),
  exclusions: z.array(
    z.strictObject({ jurisdiction, postal_code: z.string().optional(), reason: z.string().min(10), dated: date }),
  ),
  places_without_estimate: z.array(
    z.strictObject({
      country: z.string().length(2),
      regions: z.array(z.string()),
      postal_prefixes: z.array(z.string()),
      reason: z.string().min(1),
      dated: date,
      /** What says that the rate does not hold there, and that these are its codes. */
      read: z.array(z.strictObject({ source: z.string(), quoted: z.string().min(1) })).min(1),
    }),
  ),
});

export type AuthorityFile = z.infer<typeof authoritySchema>;
type RateEntry = AuthorityFile['rates'][number];

export const jurisdictionsSchema = z.strictObject({
  version: date,
  jurisdictions: z.array(jurisdiction).min(1),
  postal_codes: z.array(z.strictObject({ jurisdiction, postal_code: z.string().min(1) })),
});

/** The places that estimates are wanted for: what the table must cover, less what the authority excludes. */
export type JurisdictionsFile = z.infer<typeof jurisdictionsSchema>;

/** Too many customers live there for a table without them to be of use (contract 10). */
export const NEVER_EXCLUDED: readonly string[] = [
  ...['CA', 'TX', 'FL', 'NY', 'PA', 'IL', 'OH', 'GA', 'NC', 'MI'].map((state) => `US-${state}`),
  'CA-ON',
  'DE',
  'FR',
  'GB',
];

/** One place, named as in messages: `US-CA`, or `US-CA 94102`. */
export function placeName(jurisdictionCode: string, postalCode: string | null | undefined): string {
  return postalCode === null || postalCode === undefined ? jurisdictionCode : `${jurisdictionCode} ${postalCode}`;
}

/** What the authority says of each place on a date. */
export class Authority {
  readonly version: string;
  readonly #file: AuthorityFile;

  constructor(file: AuthorityFile) {
    this.#file = file;
    this.version = file.version;
  }

  get placesWithoutEstimate(): AuthorityFile['places_without_estimate'] {
    return this.#file.places_without_estimate;
  }

  /** Millionths by place. A change applies on its date and not a day before. */
  ratesOn(day: string): Map<string, number> {
    return new Map(this.#entries().map(([place, entry]) => [place, rateFromText(entryOn(entry, day))]));
  }

  excludedPlaces(): Set<string> {
    return new Set(this.#file.exclusions.map((entry) => placeName(entry.jurisdiction, entry.postal_code)));
  }

  /** The next day after `day` on which a rate is known to change, and where; null where none is known. */
  nextChangeAfter(day: string): { readonly effective: string; readonly place: string } | null {
    const coming = this.#entries()
      .flatMap(([place, { changes = [] }]) => changes.map(({ effective }) => ({ effective, place })))
      .filter(({ effective }) => effective > day)
      .sort((a, b) => a.effective.localeCompare(b.effective));
    return coming[0] ?? null;
  }

  /** What is wrong with the file as a whole: a rate without its source, a place twice, a place that may not be missing. */
  faults(): string[] {
    const names = this.#entries().map(([place]) => place);
    const excluded = this.excludedPlaces();
    return [
      ...names.filter((place, index) => names.indexOf(place) !== index).map((place) => `${place}: two rates`),
      ...this.#cited()
        .filter(([, source]) => !(source in this.#file.sources))
        .map(([place, source]) => `${place}: there is no source ${source}`),
      ...names.filter((place) => excluded.has(place)).map((place) => `${place}: has a rate and is excluded`),
      ...NEVER_EXCLUDED.filter((place) => excluded.has(place) || !names.includes(place)).map(
        (place) => `${place}: may not be without a rate`,
      ),
    ];
  }

  /** Every source that is named, and for what. */
  #cited(): (readonly [place: string, source: string])[] {
    return [
      ...this.#entries().flatMap(([place, entry]) => citedBy(entry).map((source) => [place, source] as const)),
      ...this.#file.places_without_estimate.flatMap(({ country, read }) =>
        read.map(({ source }) => [`parts of ${country}`, source] as const),
      ),
    ];
  }

  #entries(): (readonly [place: string, entry: RateEntry])[] {
    return [
      ...this.#file.rates.map((entry) => [entry.jurisdiction, entry] as const),
      ...this.#file.postal_rates.map((entry) => [placeName(entry.jurisdiction, entry.postal_code), entry] as const),
    ];
  }
}

function entryOn({ rate: first, changes = [] }: RateEntry, day: string): string {
  const past = changes
    .filter(({ effective }) => effective <= day)
    .sort((a, b) => a.effective.localeCompare(b.effective));
  return past.at(-1)?.rate ?? first;
}

function citedBy({ source, also = [], changes = [] }: RateEntry): string[] {
  return [source, ...also.map((other) => other.source), ...changes.map((change) => change.source)];
}
