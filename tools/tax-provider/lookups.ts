import { textOf } from './decimal';
import type { Writable } from './json';
import type { Rates } from './rates';
import { Refused } from './taxes';

/** `GET /v2/summary_rates`: every region that the provider knows. It calls the United Kingdom UK here, as TaxJar does. */
export function summaryRates({ regions }: Rates): Writable {
  return {
    summary_rates: regions.map(({ country, countryName, region, regionName, label, rate }) => ({
      country_code: country === 'GB' ? 'UK' : country,
      country: countryName,
      region_code: region,
      region: regionName,
      minimum_rate: { label, rate: { decimal: rate } },
      average_rate: { label, rate: { decimal: rate } },
    })),
  };
}

/**
 * `GET /v2/rates/:zip`. Rates are texts here, as in TaxJar's reference, and only postal codes of the rates file are
 * known, beside countries that have one rate.
 *
 * @throws Refused
 */
export function ratesAt(postalCode: string, country: string, region: string | null, rates: Rates): Writable {
  const postal = rates.atPostalCode(country, postalCode);
  const place = rates.at(country, region ?? postal?.region ?? null, postalCode);
  if (place === null || (place.base.region !== null && place.postal === null)) {
    throw new Refused(404, `No rates for ${country} ${postalCode}`);
  }
  const rate = textOf(place.combined);
  if (place.base.region === null) {
    return {
      rate: {
        country,
        name: place.base.countryName,
        country_rate: rate,
        standard_rate: rate,
        combined_rate: rate,
        freight_taxable: true,
      },
    };
  }
  return {
    rate: {
      zip: postalCode,
      country,
      country_rate: '0.0',
      state: place.base.region,
      state_rate: textOf(place.base.rate),
      city: place.postal?.city ?? null,
      combined_rate: rate,
      freight_taxable: true,
    },
  };
}
