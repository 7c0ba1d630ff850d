import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaxServer } from '../../fixtures/tax-server';
import { type Answer, eventually } from '../../support/http';

const RATES = join(__dirname, '..', '..', '..', 'tools', 'tax-provider', 'rates.json');

function compensationOf({ body }: Answer): { id: string; tax_minor: number } {
  return body['compensation'] as { id: string; tax_minor: number };
}

it('shows how far the provider was from the estimate, and which of the two said more', async () => {
  const rates = JSON.parse(await readFile(RATES, 'utf8')) as { postal_rates: { postal_code: string; rate: string }[] };
  for (const row of rates.postal_rates) if (row.postal_code === '10001') row.rate = '0.08';
  const changed = join(await mkdtemp(join(tmpdir(), 'rates-')), 'rates.json');
  await writeFile(changed, JSON.stringify(rates));
  const tax = await TaxServer.start({}, '--rates', changed);
  await tax.simulator.control({ error_rate: 1 });
  const { id, tax_minor } = compensationOf(await tax.quote());
  await tax.simulator.reset();
  const read = async () => (await tax.read(id)).body['reconciliation'];
  await eventually('it is settled', async () => ((await read()) as { status: string }).status === 'RECONCILED', 20_000);
  // 19.99, 5.01 and 7.99: at 8.875 % in the table, at 8 % by now.
  expect([tax_minor, await read()]).toEqual([
    292,
    expect.objectContaining({
      provider: expect.objectContaining({ tax_minor: 160 + 40 + 64, rate: '0.08' }) as unknown,
      difference_minor: 264 - 292,
    }),
  ]);
  const deviation = 'tax_reconciliation_deviation_ratio_count{jurisdiction="US-NY"}';
  expect(await tax.metric(deviation)).toBe(1);
});
