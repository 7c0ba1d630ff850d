import { CompensationTable, type CompensationTableFile } from './compensation-table';

const file: CompensationTableFile = {
  version: 1,
  built_on: '2026-11-30',
  provider: 'a test',
  rows: [
    { jurisdiction: 'US-CA', postal_code: null, rate: '0.0725' },
    { jurisdiction: 'US-NY', postal_code: null, rate: '0.04' },
    { jurisdiction: 'US-DE', postal_code: null, rate: '0' },
    { jurisdiction: 'US-CA', postal_code: '94102', rate: '0.08625' },
    { jurisdiction: 'CA-ON', postal_code: null, rate: '0.13' },
    { jurisdiction: 'ES', postal_code: null, rate: '0.21' },
    { jurisdiction: 'DE', postal_code: null, rate: '0.19' },
    { jurisdiction: 'GB', postal_code: null, rate: '0.2' },
  ],
  places_without_estimate: [
    { country: 'ES', regions: ['CN'], postal_prefixes: ['35', '38'] },
    { country: 'DE', regions: [], postal_prefixes: ['27498'] },
    { country: 'GB', regions: [], postal_prefixes: ['JE'] },
  ],
};

const table = new CompensationTable(file);
const find = (country: string, region: string | null = null, postalCode: string | null = null) =>
  table.find({ country, region, postalCode });

describe('the table', () => {
  it('takes the most specific row', () => {
    expect(find('US', 'CA', '94102')).toEqual({ jurisdiction: 'US-CA', scope: 'postal_code', rate: 86_250 });
    expect(find('US', 'CA', '94103')).toEqual({ jurisdiction: 'US-CA', scope: 'region', rate: 72_500 });
    expect(find('US', 'CA')).toEqual({ jurisdiction: 'US-CA', scope: 'region', rate: 72_500 });
    expect(find('DE')).toEqual({ jurisdiction: 'DE', scope: 'country', rate: 190_000 });
  });

  it('knows a ZIP+4 by its ZIP, and postal codes whatever their case, spaces and hyphens', () => {
    expect(find('US', 'CA', '94102-1234')).toMatchObject({ scope: 'postal_code' });
    expect(find('US', 'CA', ' 94102 ')).toMatchObject({ scope: 'postal_code' });
    expect(find('ES', null, '3 5001')).toBeNull();
  });

  it('takes a country without regions for one place, whatever region is named', () => {
    expect(find('DE', 'BY', '80331')).toMatchObject({ scope: 'country' });
  });

  it.each([
    ['the US without a region', 'US', null, null],
    ['the US without a region, though its postal code has a row', 'US', null, '94102'],
    ['a region of the US that has no row', 'US', 'PR', null],
    ['Canada without a province', 'CA', null, 'M5V 2T6'],
    ['a province that has no row', 'CA', 'QC', null],
    ['an unknown country', 'ZZ', null, null],
    ['a postal code of another region than the one named', 'US', 'NY', '94102'],
    ['a part of a country that has a rate of its own, by its region', 'ES', 'CN', null],
    ['a part of a country that has a rate of its own, by its postal code', 'ES', null, '38001'],
    ['one place that its country’s rate does not hold in', 'DE', null, '27498'],
    ['that place, with the country’s letter before its code', 'DE', null, 'D-27498'],
    ['that place, with the country before its code', 'DE', null, 'de 27 498'],
    ['a place whose codes begin with letters', 'GB', null, 'je2 3ab'],
  ])('has no rate for %s', (_name, country, region, postalCode) => {
    expect(find(country, region, postalCode)).toBeNull();
  });

  it('has the country’s rate for codes that only look like those', () => {
    expect(find('DE', null, 'D-27499')).toMatchObject({ scope: 'country' });
    expect(find('GB', null, 'M1 1JE')).toMatchObject({ scope: 'country' });
    expect(find('GB', null, 'J1')).toMatchObject({ scope: 'country' });
  });

  it('refuses two lists of parts of one country: the second would take the place of the first', () => {
    const twice = [...file.places_without_estimate, { country: 'DE', regions: ['BY'], postal_prefixes: [] }];
    expect(() => new CompensationTable({ ...file, places_without_estimate: twice })).toThrow(
      /Two lists of parts of DE/,
    );
  });

  it('says zero where its row says zero, which is something else than no row', () => {
    expect(find('US', 'DE')).toEqual({ jurisdiction: 'US-DE', scope: 'region', rate: 0 });
  });

  it('does not take a name of JavaScript for a place', () => {
    expect(find('__proto__')).toBeNull();
    expect(find('US', 'constructor')).toBeNull();
  });

  it.each([
    [{ jurisdiction: 'DE', postal_code: null, rate: '0.2' }, /Two rows for DE/],
    [{ jurisdiction: 'US-CA', postal_code: '94102', rate: '0.09' }, /Two rows for US-CA 94102/],
    [{ jurisdiction: 'US', postal_code: null, rate: '0' }, /US: the rates of US are by region/],
    [{ jurisdiction: 'FR-IDF', postal_code: null, rate: '0.2' }, /FR-IDF: the rates of FR are not by region/],
  ])('refuses a row that another contradicts: %p', (row, message) => {
    expect(() => new CompensationTable({ ...file, rows: [...file.rows, row] })).toThrow(message);
  });
});
