import { readFileSync } from 'node:fs';
import { Authority, type AuthorityFile, authoritySchema, NEVER_EXCLUDED } from './authority';
import { compensationPaths } from './places';

const committed = authoritySchema.parse(JSON.parse(readFileSync(compensationPaths.authority, 'utf8')));

function fileWith(changes: Partial<AuthorityFile>): Authority {
  return new Authority({ ...committed, ...changes });
}

describe('the authority', () => {
  it('as it is committed has a source for every rate, and none of the places missing that may not be', () => {
    expect(new Authority(committed).faults()).toEqual([]);
  });

  it.each([
    ['2026-09-30', 60_000],
    ['2026-10-01', 70_000],
    ['2026-10-02', 70_000],
  ])('applies a change on its date: the District of Columbia on %s', (day, rate) => {
    const rates = new Authority(committed).ratesOn(day);
    expect(rates.get('US-DC')).toBe(rate);
    expect(rates.get('US-DC 20001')).toBe(rate);
  });

  it.each([
    ['2026-09-30', { effective: '2026-10-01', place: 'US-DC' }],
    ['2026-10-01', { effective: '2027-07-01', place: 'US-SD' }],
    ['2027-06-30', { effective: '2027-07-01', place: 'US-SD' }],
    ['2027-07-01', { effective: '2030-01-01', place: 'US-LA' }],
    ['2030-01-01', null],
  ])('knows what changes next after %s', (day, change) => {
    expect(new Authority(committed).nextChangeAfter(day)).toEqual(change);
  });

  it.each(NEVER_EXCLUDED)('may not exclude %s, nor leave it out', (place) => {
    const rates = committed.rates.filter(({ jurisdiction }) => jurisdiction !== place);
    expect(fileWith({ rates }).faults()).toEqual([`${place}: may not be without a rate`]);
    const exclusions = [...committed.exclusions, { jurisdiction: place, reason: 'nobody looked', dated: '2026-11-30' }];
    expect(fileWith({ rates, exclusions }).faults()).toEqual([`${place}: may not be without a rate`]);
  });

  it('may not cite what it does not list, say two rates of a place, or rate a place that it excludes', () => {
    const [first] = committed.rates;
    if (first === undefined) throw new Error('an authority without rates');
    expect(fileWith({ rates: [...committed.rates, { ...first, source: 'hearsay' }] }).faults()).toEqual([
      `${first.jurisdiction}: two rates`,
      `${first.jurisdiction}: there is no source hearsay`,
    ]);
    const [part] = committed.places_without_estimate;
    if (part === undefined) throw new Error('an authority without places that have rates of their own');
    const read = [{ source: 'hearsay', quoted: 'they say' }];
    expect(fileWith({ places_without_estimate: [{ ...part, read }] }).faults()).toEqual([
      `parts of ${part.country}: there is no source hearsay`,
    ]);
    const exclusions = [{ jurisdiction: 'AU', reason: 'a long reason', dated: '2026-11-30' }];
    expect(fileWith({ exclusions }).faults()).toContain('AU: has a rate and is excluded');
  });
});
