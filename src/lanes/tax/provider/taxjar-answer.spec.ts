import type { QuoteRequest } from '../tax';
import { ProviderFailure } from './provider-failure';
import { taxjarQuote } from './taxjar-answer';
import { lacksForTaxjar, taxjarOrder } from './taxjar-order';

const request: QuoteRequest = {
  currency: 'USD',
  shipTo: { country: 'US', region: 'TX', postalCode: '78701' },
  lines: [
    { id: '1', amountMinor: 1_500, taxCode: null },
    { id: '2', amountMinor: 0, taxCode: '20010' },
  ],
  shippingMinor: 150,
};

interface Part {
  id?: string | number;
  taxable_amount: number;
  tax_collectable: number;
  combined_tax_rate: number;
}

/** After the example of TaxJar's reference for an order to Austin. */
function answer(): {
  currency?: string;
  tax: Record<string, unknown> & { breakdown: { line_items: Part[]; shipping?: Part } & Record<string, unknown> };
} {
  return {
    tax: {
      order_total_amount: 16.5,
      shipping: 1.5,
      taxable_amount: 16.5,
      amount_to_collect: 1.36,
      rate: 0.0825,
      has_nexus: true,
      freight_taxable: true,
      tax_source: 'origin',
      jurisdictions: { country: 'US', state: 'TX', county: 'TRAVIS', city: 'AUSTIN' },
      breakdown: {
        combined_tax_rate: 0.0825,
        line_items: [
          { id: '2', taxable_amount: 0, tax_collectable: 0, combined_tax_rate: 0.0825 },
          { id: '1', taxable_amount: 15, tax_collectable: 1.24, combined_tax_rate: 0.0825 },
        ],
        shipping: { taxable_amount: 1.5, tax_collectable: 0.12, combined_tax_rate: 0.0825 },
      },
    },
  };
}

type Answer = ReturnType<typeof answer>;

function quoteOf(change: (answer: Answer) => void = () => undefined, asked = request): unknown {
  const changed = answer();
  change(changed);
  return taxjarQuote(JSON.stringify(changed), asked);
}

function lineOf({ tax }: Answer, index = 1): Part {
  return tax.breakdown.line_items[index] as Part;
}

it('takes the provider’s figures, the lines in the order of the request', () => {
  expect(quoteOf()).toEqual({
    taxMinor: 136,
    rate: '0.0825',
    shippingTaxMinor: 12,
    lines: [
      { id: '1', taxMinor: 124, rate: '0.0825' },
      { id: '2', taxMinor: 0, rate: '0.0825' },
    ],
    jurisdiction: 'US-TX',
  });
});

it('rounds half up what the provider did not round', () => {
  const exact = quoteOf((all) => {
    lineOf(all).tax_collectable = 1.235;
    lineOf(all).combined_tax_rate = 0.08233333;
  }) as { taxMinor: number };
  expect(exact.taxMinor).toBe(124 + 12);
});

it('needs no shipping where shipping is not taxed, and takes ids that came back as numbers', () => {
  const quote = quoteOf((all) => {
    delete all.tax.breakdown.shipping;
    all.tax['amount_to_collect'] = 1.24;
    for (const line of all.tax.breakdown.line_items) line.id = Number(line.id);
  });
  expect(quote).toMatchObject({ taxMinor: 124, shippingTaxMinor: 0 });
});

it('is zero where the seller has no nexus, which is said without lines', () => {
  const none = { tax: { amount_to_collect: 0, freight_taxable: false, has_nexus: false, rate: 0, taxable_amount: 0 } };
  expect(taxjarQuote(JSON.stringify(none), request)).toEqual({
    taxMinor: 0,
    rate: '0',
    shippingTaxMinor: 0,
    lines: [
      { id: '1', taxMinor: 0, rate: '0' },
      { id: '2', taxMinor: 0, rate: '0' },
    ],
    jurisdiction: 'US-TX',
  });
});

it.each([
  ['the order’s region', { country: 'US', region: 'TX' }, 'TX', 'US-TX'],
  ['the provider’s, where the order has none', { country: 'US', region: null }, 'TX', 'US-TX'],
  ['no text of the provider’s that is no code', { country: 'US', region: null }, 'x\0<script>', 'US'],
  ['no region where the rate depends on none', { country: 'DE', region: 'BY' }, 'BY', 'DE'],
])('the jurisdiction is %s', (_name, { country, region }, state, jurisdiction) => {
  const asked = { ...request, shipTo: { country, region, postalCode: null } };
  expect(quoteOf((all) => (all.tax['jurisdictions'] = { country, state }), asked)).toMatchObject({ jurisdiction });
});

/** The members that count, of the examples in TaxJar's reference: order of 15 and 1.5 for shipping, rounded to the cent. */
it.each([
  ['Canada', 'CA', 'ON', 'CAD', '0.13', 1.95, 0.2, 2.15],
  ['Australia', 'AU', undefined, 'AUD', '0.1', 1.5, 0.15, 1.65],
  ['the European Union', 'FR', undefined, 'EUR', '0.2', 3, 0.3, 3.3],
] as const)('reads TaxJar’s own example of %s', (_name, country, state, currency, rate, goods, shipping, due) => {
  const part = (taxable_amount: number, tax_collectable: number): object => ({
    taxable_amount,
    tax_collectable,
    combined_tax_rate: Number(rate),
  });
  const text = JSON.stringify({
    tax: {
      order_total_amount: 16.5,
      shipping: 1.5,
      taxable_amount: 16.5,
      amount_to_collect: due,
      rate: Number(rate),
      has_nexus: true,
      freight_taxable: true,
      tax_source: 'destination',
      jurisdictions: { country, ...(state && { state }) },
      breakdown: { ...part(16.5, due), line_items: [{ id: '1', ...part(15, goods) }], shipping: part(1.5, shipping) },
    },
  });
  const asked: QuoteRequest = {
    currency,
    shipTo: { country, region: state ?? null, postalCode: null },
    lines: [{ id: '1', amountMinor: 1_500, taxCode: null }],
    shippingMinor: 150,
  };
  expect(taxjarQuote(text, asked)).toEqual({
    taxMinor: Math.round(due * 100),
    rate,
    shippingTaxMinor: Math.round(shipping * 100),
    lines: [{ id: '1', taxMinor: Math.round(goods * 100), rate }],
    jurisdiction: state ? `${country}-${state}` : country,
  });
});

const GOOD = JSON.stringify(answer());

it.each<[string, (answer: Answer) => void]>([
  ['a negative tax of a line', (all) => (lineOf(all).tax_collectable = -1.24)],
  ['a negative total', (all) => (all.tax['amount_to_collect'] = -1.36)],
  ['a rate above 100 %', (all) => (lineOf(all).combined_tax_rate = 1.01)],
  ['a rate below 0', (all) => (all.tax['rate'] = -0.01)],
  ['an overall rate above 100 %', (all) => (all.tax['rate'] = 8.25)],
  ['a tax above the amount', (all) => (lineOf(all).tax_collectable = 15.01)],
  ['a tax that is not its rate’s', (all) => (lineOf(all).tax_collectable = 1.5)],
  ['a tax on more than the line', (all) => (lineOf(all).taxable_amount = 15.01)],
  ['a missing line', (all) => void all.tax.breakdown.line_items.pop()],
  ['a line too many', (all) => void all.tax.breakdown.line_items.push({ ...lineOf(all), id: '3' })],
  ['a line twice', (all) => (lineOf(all, 0).id = '1')],
  ['another order’s line', (all) => (lineOf(all).id = '7')],
  ['no lines at all', (all) => delete (all.tax as Record<string, unknown>)['breakdown']],
  ['another total', (all) => (all.tax['order_total_amount'] = 1_650)],
  ['another shipping', (all) => (all.tax['shipping'] = 1.51)],
  ['a total that is not the sum', (all) => (all.tax['amount_to_collect'] = 3.36)],
  ['another currency', (all) => (all.currency = 'EUR')],
  ['another currency, said within', (all) => (all.tax['currency'] = 'cad')],
  ['another country', (all) => (all.tax['jurisdictions'] = { country: 'CA' })],
  ['another region', (all) => (all.tax['jurisdictions'] = { country: 'US', state: 'CA' })],
  ['a sum as text', (all) => (all.tax['amount_to_collect'] = '1.36')],
  ['no sum', (all) => delete all.tax['amount_to_collect']],
])('%s is no tax', (_name, change) => {
  expect(() => quoteOf(change)).toThrow(ProviderFailure);
});

it.each([
  ['nothing', ''],
  ['a page', '<html></html>'],
  ['an error that is called a success', '{"error":"Internal Server Error","status":500,"detail":"…"}'],
  ['half of it', GOOD.slice(0, -20)],
  ['a list', '[]'],
  ['null', 'null'],
  ['a figure of endless work', GOOD.replace('1.36', '1e999999')],
])('%s is no tax', (_name, text) => {
  expect(() => taxjarQuote(text, request)).toThrow(expect.objectContaining({ reason: 'wrong' }) as Error);
});

it('compares digits, not floats: the largest amount to the cent', () => {
  const amountMinor = Number.MAX_SAFE_INTEGER;
  const asked = { ...request, lines: [{ id: '1', amountMinor, taxCode: null }], shippingMinor: 0 };
  const text = (total: string): string =>
    `{"tax":{"order_total_amount":${total},"amount_to_collect":0,"rate":0,"has_nexus":true,"breakdown":{"line_items":[` +
    `{"id":"1","taxable_amount":90071992547409.91,"tax_collectable":0,"combined_tax_rate":0}]}}}`;
  expect(taxjarQuote(text('90071992547409.91'), asked)).toMatchObject({ taxMinor: 0 });
  expect(() => taxjarQuote(text('90071992547409.92'), asked)).toThrow(ProviderFailure);
});

describe('the order', () => {
  it('is written in major units, digit for digit', () => {
    const asked = { ...request, lines: [{ id: '1', amountMinor: Number.MAX_SAFE_INTEGER, taxCode: '20010' }] };
    expect(taxjarOrder({ ...asked, shippingMinor: 0 })).toBe(
      '{"to_country":"US","to_state":"TX","to_zip":"78701","amount":90071992547409.91,"shipping":0.00,' +
        '"line_items":[{"id":"1","quantity":1,"unit_price":90071992547409.91,"product_tax_code":"20010"}]}',
    );
  });

  it.each([
    ['US', '94102', '94102'],
    ['US', '94102-1234', '94102-1234'],
    ['US', '941021234', '94102-1234'],
    ['US', '94102 1234', '94102-1234'],
    ['US', '9410', '9410'],
    ['US', 'US-94102', 'US-94102'],
    ['CA', 'M5V 2T6', 'M5V 2T6'],
    ['DE', '27 498', '27 498'],
  ])('to a place in %s whose code was written %s has it as %s', (country, postalCode, zip) => {
    const order = JSON.parse(taxjarOrder({ ...request, shipTo: { country, region: null, postalCode } })) as object;
    expect(order).toMatchObject({ to_zip: zip });
  });

  it.each([
    ['US', null, '94102', /the state/],
    ['US', 'CA', null, /the postal code/],
    ['CA', null, 'M5V 2T6', /the province/],
    ['CA', 'ON', null, null],
    ['DE', null, null, null],
  ])('to %s, region %s, postal code %s, lacks %s', (country, region, postalCode, lacks) => {
    const said = lacksForTaxjar({ country, region, postalCode });
    if (lacks === null) expect(said).toBeNull();
    else expect(said).toMatch(lacks);
  });

  it.each([
    ['JPY', '"amount":1234,"shipping":5'],
    ['KWD', '"amount":1.234,"shipping":0.005'],
  ])('in %s', (currency, part) => {
    const shipTo = { country: 'JP', region: null, postalCode: null };
    const lines = [{ id: '1', amountMinor: 1_234, taxCode: null }];
    const text = taxjarOrder({ currency, shipTo, lines, shippingMinor: 5 });
    expect(text).toContain(part);
    expect(text).not.toContain('to_state');
    expect(text).not.toContain('to_zip');
  });
});
