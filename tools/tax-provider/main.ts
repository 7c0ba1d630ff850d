import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../scripts/setup/project';
import { Rates } from './rates';
import { Simulator } from './simulator';

const PORT_USUAL = 3_010;

/**
 * The tax provider's simulator as a process of its own: `node dist/tools/tax-provider/main.js --port 3010 [--strict] [--rates FILE]`. Told to stop,
 * or left by whoever started it with a channel, it ends at once: nobody's money is in it.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      strict: { type: 'boolean' },
      rates: { type: 'string' },
    },
  });
  const rates = Rates.fromFile(values.rates ?? join(projectRoot, 'tools', 'tax-provider', 'rates.json'));
  const simulator = new Simulator(rates, { strict: values.strict ?? false });
  const end = (): void => {
    simulator.close();
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  process.on('disconnect', end);
  const port = await simulator.listen(values.host ?? '127.0.0.1', Number(values.port ?? PORT_USUAL));
  process.send?.({ type: 'ready', port });
}

main().catch((error: unknown) => {
  console.error(
    `the tax provider's simulator could not start: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exit(1);
});
