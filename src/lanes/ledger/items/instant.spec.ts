import fc from 'fast-check';
import { microsOfInstant } from './instant';

describe('instants', () => {
  it.each([
    ['2026-11-30T12:00:00Z', '2026-11-30T12:00:00.000Z', 0],
    ['2026-11-30t12:00:00z', '2026-11-30T12:00:00.000Z', 0],
    ['2026-11-30T12:00:00.5Z', '2026-11-30T12:00:00.500Z', 0],
    ['2026-11-30T12:00:00.123456Z', '2026-11-30T12:00:00.123Z', 456],
    ['2026-11-30T12:00:00.123456000Z', '2026-11-30T12:00:00.123Z', 456],
    ['2026-11-30T12:00:00.000001Z', '2026-11-30T12:00:00.000Z', 1],
    ['2026-11-30T12:00:00+02:00', '2026-11-30T10:00:00.000Z', 0],
    ['2026-11-30T12:00:00-05:30', '2026-11-30T17:30:00.000Z', 0],
    ['2026-11-30T12:00:00-00:00', '2026-11-30T12:00:00.000Z', 0],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z', 0],
    ['2000-01-01T00:00:00Z', '2000-01-01T00:00:00.000Z', 0],
    ['2099-12-31T23:59:59.999999Z', '2099-12-31T23:59:59.999Z', 999],
  ])('%s is %s and %i µs', (text, iso, micros) => {
    expect(microsOfInstant(text)).toBe(Date.parse(iso) * 1000 + micros);
  });

  it.each([
    ['without a zone', '2026-11-30T12:00:00'],
    ['without a zone, with decimals', '2026-11-30T12:00:00.123'],
    ['a date alone', '2026-11-30'],
    ['without seconds', '2026-11-30T12:00Z'],
    ['a space for the T', '2026-11-30 12:00:00Z'],
    ['31 November', '2026-11-31T12:00:00Z'],
    ['29 February of no leap year', '2026-02-29T12:00:00Z'],
    ['a century that is no leap year', '2100-02-29T12:00:00Z'],
    ['month 0', '2026-00-10T12:00:00Z'],
    ['month 13', '2026-13-10T12:00:00Z'],
    ['day 0', '2026-11-00T12:00:00Z'],
    ['24 o’clock', '2026-11-30T24:00:00Z'],
    ['minute 60', '2026-11-30T12:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['a point without decimals', '2026-11-30T12:00:00.Z'],
    ['a comma for the point', '2026-11-30T12:00:00,5Z'],
    ['nanoseconds', '2026-11-30T12:00:00.123456789Z'],
    ['a zone of 24 hours', '2026-11-30T12:00:00+24:00'],
    ['a zone without a colon', '2026-11-30T12:00:00+0200'],
    ['a named zone', '2026-11-30T12:00:00 Europe/Rome'],
    ['something behind the zone', '2026-11-30T12:00:00Z '],
    ['something before it', ' 2026-11-30T12:00:00Z'],
    ['before 2000', '1999-12-31T23:59:59Z'],
    ['after 2099', '2100-01-01T00:00:00Z'],
    ['year 0', '0000-01-01T00:00:00Z'],
    ['year 10000', '10000-01-01T00:00:00Z'],
    ['a signed year', '+002026-11-30T12:00:00Z'],
    ['a negative year', '-2026-11-30T12:00:00Z'],
    ['seconds since 1970', '1796040000'],
    ['what PostgreSQL would take', 'now'],
    ['likewise', 'infinity'],
    ['likewise', '2026-11-30T12:00:00Z BC'],
    ['nothing', ''],
    ['letters for digits', '2026-1a-30T12:00:00Z'],
    ['digits of another script', '२०२६-11-30T12:00:00Z'],
  ])('%s: %p names none', (_, text) => {
    expect(microsOfInstant(text)).toBeNull();
  });

  it('agrees with Date on every millisecond there is', () => {
    const date = fc.date({
      min: new Date('2000-01-01T00:00:00Z'),
      max: new Date('2099-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(fc.property(date, (instant) => microsOfInstant(instant.toISOString()) === instant.getTime() * 1000));
  });
});
