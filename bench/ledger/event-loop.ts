import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { projectRoot } from '../../scripts/setup/project';
import { type Closing, runBenchmark } from '../support/closing';
import { describeDurability, readDurability } from '../support/durability';
import { install } from '../support/installation';
import { numberOption, parseOptions } from '../support/options';
import { describePlace, recordedFile, resultHead, writeResult } from '../support/results';
import type { ServerProcess } from '../support/server-process';
import { startRole } from '../support/topology';
import type { LoopDelay } from './loop-monitor';
import { ItemFactory } from './item-factory';

/**
 * The delay of the ledger process's event loop while it reads, hashes, writes and answers bodies of 5,000 items (about
 * 1.3 MB), and others that are hard on it: contract 11's largest batches, by two callers one after another, each of
 * which may have no more than one of them in the buffer.
 *
 *     npm run bench:ledger-event-loop -- [--short] [--seconds 30]
 */
const ITEMS = 5_000;
const CALLERS = 2;
const BODY_BYTES_MAX = 8 * 1024 * 1024;
/** As the supervisor and the image start a lane's process. */
const MEMORY_ARGUMENTS = ['--max-old-space-size=192', '--max-semi-space-size=8'];

interface Kind {
  readonly name: string;
  /** Items a second of all callers together; without it as many as they get answered. */
  readonly rate?: number;
  readonly status: number;
  body(items: ItemFactory): string;
}

interface Measured extends Omit<LoopDelay, 'type'> {
  readonly kind: string;
  readonly requests: number;
  readonly itemsPerSecond: number;
  readonly otherAnswers: number;
}

function envelope(items: ItemFactory, change: (item: Record<string, unknown>) => unknown = (item) => item): string {
  const written = items.batch(ITEMS).map((item, index) =>
    change({
      item_id: `tx_${index}`,
      merchant_id: item.merchantId,
      external_transaction_id: item.externalTransactionId,
      account_id: item.accountId,
      type: item.type,
      amount_minor: item.amountMinor,
      currency: item.currency,
      occurred_at: new Date(item.occurredAtMicros / 1_000).toISOString(),
    }),
  );
  return JSON.stringify({ items: written });
}

const kinds: readonly Kind[] = [
  { name: '5,000 valid items, 16,000/s', rate: 16_000, status: 207, body: (items) => envelope(items) },
  { name: '5,000 valid items', status: 207, body: (items) => envelope(items) },
  {
    name: '5,000 items with escapes',
    status: 207,
    body: (items) => envelope(items).replaceAll('"tx_', '"\\u0074x_'),
  },
  {
    name: '5,000 faulty items',
    status: 207,
    body: (items) => envelope(items, (item) => ({ ...item, note: 'unknown' })),
  },
  { name: 'broken at its end', status: 400, body: (items) => envelope(items).slice(0, -1) },
  {
    name: '5,000 items in 8 MiB',
    status: 207,
    body: (items) => envelope(items).replaceAll(',"merchant_id"', `,${' '.repeat(1_300)}"merchant_id"`),
  },
];

async function measure(kind: Kind, seconds: number, target: Target): Promise<Measured> {
  const { url, bearers, server, nextDelay } = target;
  const endMs = performance.now() + seconds * 1_000;
  let requests = 0;
  let otherAnswers = 0;
  // What went before, the pause between two kinds included, is thrown away.
  await nextDelay(server);
  const startedMs = performance.now();
  await Promise.all(
    bearers.map(async (authorization, caller) => {
      const items = new ItemFactory(`${kind.name} ${caller} ${startedMs}`);
      const dispatcher = new Agent({ connections: 1 });
      const everyMs = kind.rate === undefined ? 0 : (ITEMS * CALLERS * 1_000) / kind.rate;
      let dueMs = startedMs + (everyMs * caller) / CALLERS;
      for (; dueMs < endMs && performance.now() < endMs; dueMs += everyMs) {
        await sleep(Math.max(dueMs - performance.now(), 0));
        const body = kind.body(items);
        if (body.length > BODY_BYTES_MAX) throw new Error('The body is longer than the door');
        const headers = { authorization, 'content-type': 'application/json' };
        const answer = await request(`${url}/v1/ledger/batches`, { method: 'POST', headers, body, dispatcher });
        await answer.body.dump({ limit: BODY_BYTES_MAX });
        if (answer.statusCode === kind.status) requests += 1;
        else otherAnswers += 1;
      }
      await dispatcher.close();
    }),
  );
  const elapsedS = (performance.now() - startedMs) / 1_000;
  const { p50Ms, p99Ms, maxMs } = await nextDelay(server);
  const itemsPerSecond = Math.round((requests * ITEMS) / elapsedS);
  return { kind: kind.name, requests, otherAnswers, itemsPerSecond, p50Ms, p99Ms, maxMs };
}

interface Target {
  readonly url: string;
  readonly bearers: readonly string[];
  readonly server: ServerProcess;
  nextDelay(server: ServerProcess): Promise<LoopDelay>;
}

async function startLedger(closing: Closing): Promise<{ target: Target; adminUrl: string }> {
  const installation = await install(closing);
  let told: (delay: LoopDelay) => void = () => {};
  const { url, process: server } = await startRole('ledger', installation, closing, {
    nodeArguments: [...MEMORY_ARGUMENTS, '--require', join(projectRoot, 'dist', 'bench', 'ledger', 'loop-monitor.js')],
    onMessage: (message) => {
      if ((message as Partial<LoopDelay> | null)?.type === 'loop_delay') told(message as LoopDelay);
    },
  });
  const bearers = await Promise.all(
    Array.from(
      { length: CALLERS },
      async (_, index) => `Bearer ${await installation.token(`loop-${index}`, ['ledger'])}`,
    ),
  );
  const nextDelay = (process: ServerProcess): Promise<LoopDelay> =>
    new Promise((resolve) => {
      told = resolve;
      process.signal('SIGUSR2');
    });
  return { target: { url, bearers, server, nextDelay }, adminUrl: installation.adminUrl };
}

async function benchmark(closing: Closing): Promise<number> {
  const values = parseOptions(process.argv.slice(2), {
    short: { type: 'boolean', default: false },
    seconds: { type: 'string' },
  });
  const seconds = numberOption('seconds', values.seconds, values.short ? 0.7 : 30, { min: 0.1, max: 600 });
  const { target, adminUrl } = await startLedger(closing);
  const durability = await readDurability(adminUrl);
  const head = await resultHead('ledger-event-loop', durability);
  console.log(
    `${head.machine.cpus} × ${head.machine.model}, Node ${head.machine.node}; ${describeDurability(durability)}`,
  );
  // The first seconds of a process are another story: cold code, cold plans.
  for (const kind of kinds) await measure(kind, values.short ? 0.2 : 5, target);
  const out = values.short ? null : recordedFile('ledger-event-loop');
  const measured: Measured[] = [];
  for (const kind of kinds) {
    closing.check();
    measured.push(await measure(kind, seconds, target));
    writeResult(out, { ...head, seconds, callers: CALLERS, measured });
  }
  console.table(measured);
  console.log(describePlace(out));
  return 0;
}

void runBenchmark(benchmark);
