import { readFileSync } from 'node:fs';
import { Authority, authoritySchema } from './authority';
import { differencesFromPackage } from './cross-check';
import { compensationPaths } from './places';

const authority = new Authority(authoritySchema.parse(JSON.parse(readFileSync(compensationPaths.authority, 'utf8'))));

describe('the cross-check with the sales-tax package', () => {
  it('finds differences, each of which is explained', () => {
    const differences = differencesFromPackage(authority.ratesOn('2026-11-30'));
    expect(differences.length).toBeGreaterThan(0);
    expect(differences.filter(({ explanation }) => explanation === null)).toEqual([]);
  });

  it('adds Canada’s two taxes up before it compares them', () => {
    expect(differencesFromPackage(new Map([['CA-QC', 149_750]]))).toEqual([]);
    expect(differencesFromPackage(new Map([['CA-AB', 50_000]]))).toEqual([]);
  });

  it('does not take the package’s zero for the US without a state for a state without tax', () => {
    expect(differencesFromPackage(new Map([['US-OR', 0]]))).toMatchObject([{ place: 'US-OR', packaged: null }]);
  });

  it('shows a difference that nobody has explained', () => {
    expect(differencesFromPackage(new Map([['FR', 210_000]]))).toEqual([
      { place: 'FR', authority: '0.21', packaged: '0.2', explanation: null },
    ]);
  });
});
