import { join } from 'node:path';
import { changed, noFaults } from './control';
import { parseJson, writeJson } from './json';
import { ratesAt, summaryRates } from './lookups';
import { Rates } from './rates';
import { Refused, taxesOf } from './taxes';

const rates = Rates.fromFile(join(__dirname, 'rates.json'));

interface Taxes {
  tax: {
    order_total_amount: number;
    amount_to_collect: number;
    rate: number;
    breakdown: { line_items: { id: string; tax_collectable: number }[]; shipping: { tax_collectable: number } };
  };
}

function taxes(order: object, strict = false): Taxes['tax'] {
  return (JSON.parse(writeJson(taxesOf(parseJson(JSON.stringify(order)), rates, strict))) as Taxes).tax;
}

const toNewYork = { to_country: 'US', to_state: 'NY', to_zip: '10001', shipping: 1.5 };

it('taxes lines and shipping at the rate of the postal code, unrounded', () => {
  const { order_total_amount, amount_to_collect, rate, breakdown } = taxes({
    ...toNewYork,
    line_items: [
      { id: 'a', quantity: 2, unit_price: 0.1 },
      { id: 'b', quantity: 1, unit_price: 10, discount: 1 },
    ],
  });
  expect({ order_total_amount, rate }).toEqual({ order_total_amount: 10.7, rate: 0.08875 });
  expect(breakdown.line_items).toMatchObject([
    { id: 'a', tax_collectable: 0.01775 },
    { id: 'b', tax_collectable: 0.79875 },
  ]);
  expect(breakdown.shipping.tax_collectable).toBe(0.133125);
  expect(amount_to_collect).toBe(0.949625);
});

it('knows the state where it does not know the postal code, and the whole ZIP of a ZIP+4', () => {
  expect(taxes({ ...toNewYork, to_zip: '10001-1234', amount: 1 }).rate).toBe(0.08875);
  expect(taxes({ to_country: 'US', to_state: 'WY', to_zip: '82999', shipping: 0, amount: 1 }).rate).toBe(
    taxes({ to_country: 'US', to_state: 'WY', shipping: 0, amount: 1 }).rate,
  );
});

it('refuses a ZIP of another state than the one named, as TaxJar does', () => {
  expect(() => taxes({ ...toNewYork, to_state: 'CA', amount: 1 })).toThrow(
    'to_zip 10001 is not used within to_state CA',
  );
});

describe('as strict as TaxJar', () => {
  it('demands the ZIP of an order to the US, and of no other', () => {
    expect(() => taxes({ to_country: 'US', to_state: 'NY', shipping: 0, amount: 1 }, true)).toThrow(
      'No to zip, required when country is US',
    );
    expect(taxes({ to_country: 'CA', to_state: 'ON', shipping: 0, amount: 1 }, true).rate).toBe(0.13);
    expect(taxes({ to_country: 'DE', shipping: 0, amount: 1 }, true).rate).toBe(0.19);
  });

  it('gives sums to the cent, half up', () => {
    const { amount_to_collect, breakdown } = taxes(
      {
        ...toNewYork,
        line_items: [
          { id: 'a', unit_price: 0.1 },
          { id: 'b', unit_price: 10 },
        ],
      },
      true,
    );
    expect(breakdown.line_items).toMatchObject([{ tax_collectable: 0.01 }, { tax_collectable: 0.89 }]);
    expect(breakdown.shipping.tax_collectable).toBe(0.13);
    // Of the whole, and so not the sum of the parts.
    expect(amount_to_collect).toBe(1.03);
  });
});

it.each([
  ['no country', { shipping: 1, amount: 1 }],
  ['no state', { to_country: 'US', shipping: 1, amount: 1 }],
  ['no shipping', { to_country: 'DE', amount: 1 }],
  ['neither amount nor lines', { to_country: 'DE', shipping: 1 }],
  ['an unknown country', { to_country: 'ZZ', shipping: 1, amount: 1 }],
  ['an unknown state', { to_country: 'US', to_state: 'ZZ', shipping: 1, amount: 1 }],
])('refuses an order with %s', (_name, order) => {
  expect(() => taxes(order)).toThrow(Refused);
});

it('lists every region with its rate, the United Kingdom as UK', () => {
  const { summary_rates: rows } = JSON.parse(writeJson(summaryRates(rates))) as {
    summary_rates: { country_code: string; region_code: string | null; average_rate: { rate: number } }[];
  };
  expect(rows.filter(({ country_code }) => country_code === 'US')).toHaveLength(51);
  expect(rows.filter(({ country_code }) => country_code === 'CA')).toHaveLength(13);
  expect(rows.find(({ country_code }) => country_code === 'UK')?.average_rate.rate).toBe(0.2);
  expect(rows.some(({ country_code }) => country_code === 'GB')).toBe(false);
});

it('tells the rates of a postal code as texts', () => {
  expect(JSON.parse(writeJson(ratesAt('10001', 'US', null, rates)))).toMatchObject({
    rate: { zip: '10001', state: 'NY', combined_rate: '0.08875', freight_taxable: true },
  });
  expect(JSON.parse(writeJson(ratesAt('00150', 'FI', null, rates)))).toMatchObject({ rate: { country: 'FI' } });
  expect(() => ratesAt('99999', 'US', null, rates)).toThrow(Refused);
});

describe('faults', () => {
  it('change one by one', () => {
    const slow = changed(noFaults, parseJson('{"latency_ms":8000,"mode":"hang"}'));
    expect(slow).toEqual({ ...noFaults, latency_ms: 8_000, mode: 'hang' });
    expect(changed(slow as typeof noFaults, parseJson('{"mode":"ok"}'))).toEqual({ ...noFaults, latency_ms: 8_000 });
  });

  it.each(['{"mode":"broken"}', '{"latency_ms":-1}', '{"error_rate":1.1}', '{"latency":5}', '[]', 'null', '7'])(
    '%s is refused in words',
    (text) => expect(typeof changed(noFaults, parseJson(text))).toBe('string'),
  );
});
