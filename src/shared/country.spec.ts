import { COUNTRIES } from './country';

describe('countries', () => {
  it('are the 249 that ISO 3166-1 assigns', () => {
    expect(COUNTRIES.size).toBe(249);
  });

  it.each(['US', 'DE', 'JP', 'KW', 'GB', 'SS', 'BQ', 'CW', 'AX'])('%s is one', (code) => {
    expect(COUNTRIES.has(code)).toBe(true);
  });

  it.each(['UK', 'EU', 'SU', 'YU', 'AN', 'XK', 'XA', 'ZZ', 'AA', 'QQ', 'us', 'USA', ''])('%p is none', (code) => {
    expect(COUNTRIES.has(code)).toBe(false);
  });
});
