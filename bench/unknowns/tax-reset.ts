import { fork } from 'node:child_process';
import { join } from 'node:path';
import { laneTable } from '../../config/lanes';
import { Bulkhead } from '../../src/bulkhead/bulkhead';
import { ProviderClient } from '../../src/lanes/tax/provider/provider-client';
import { systemClock } from '../../src/platform/system-clock';
import { describeMachine } from '../load/machine';

/**
 * How long after a provider cuts a TCP connection the permit of the call on it is free (contract 16): the lane's own
 * client and permits, the provider in a process of its own. `npm run measure:tax-reset`.
 */
const ROUNDS = 500;
const order = {
  currency: 'EUR',
  shipTo: { country: 'DE', region: null, postalCode: null },
  lines: [{ id: '1', amountMinor: 1_000, taxCode: null }],
  shippingMinor: 0,
};

async function measure(how: 'reset' | 'end'): Promise<number[]> {
  const provider = fork(join(__dirname, 'cutting-provider.js'), [how]);
  const cuts: bigint[] = [];
  const port = await new Promise<number>((resolve) => {
    provider.on('message', (message: { port?: number; cutAtNs?: string }) => {
      if (message.port !== undefined) resolve(message.port);
      if (message.cutAtNs !== undefined) cuts.push(BigInt(message.cutAtNs));
    });
  });
  let freedAtNs = 0n;
  const { name, permits, queueMax, queueWaitMsMax, executionMsMax } = laneTable.tax.bulkhead;
  const bulkhead = new Bulkhead(
    { name, permits, queueMax, queueWaitMsMax, executionMsMax, background: null },
    systemClock,
    { onReleased: () => (freedAtNs = process.hrtime.bigint()) },
  );
  const client = new ProviderClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token: null,
    callMsMax: 4_000,
    connectionsMax: permits,
    clock: systemClock,
    observer: { onCall: () => undefined },
  });
  const freed: bigint[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await bulkhead.enter(({ signal }) => client.quote(order, signal)).result.catch(() => undefined);
    await new Promise(setImmediate);
    freed.push(freedAtNs);
  }
  while (cuts.length < ROUNDS) await new Promise((resolve) => setTimeout(resolve, 10));
  await client.close();
  bulkhead.close();
  provider.disconnect();
  return freed.map((at, round) => Number(at - (cuts[round] ?? 0n)) / 1e6);
}

function share(sorted: readonly number[], part: number): string {
  return `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN).toFixed(3)} ms`;
}

async function main(): Promise<void> {
  console.log(JSON.stringify(describeMachine()));
  for (const how of ['reset', 'end'] as const) {
    // The first tenth warms the code up.
    const sorted = (await measure(how)).slice(ROUNDS / 10).sort((a, b) => a - b);
    const [p50, p99, most] = [share(sorted, 0.5), share(sorted, 0.99), share(sorted, 1)];
    console.log(
      `${how === 'reset' ? 'TCP reset' : 'orderly end'}: ${sorted.length} calls, p50 ${p50}, p99 ${p99}, most ${most}`,
    );
  }
}

void main();
