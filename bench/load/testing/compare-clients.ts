import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { Pool } from 'undici';
import { ConnectionPool } from '../http/connection-pool';
import { approvedBody, startStandIn } from './stand-in-server';

/**
 * CPU per request of three HTTP clients at a fixed rate, each against the same server in a process of its own:
 * the measurement behind the choice of client. `node dist/bench/load/testing/compare-clients.js [rate] [seconds]`.
 */

type Send = (path: string, headers: Record<string, string>, body: string, done: (status: number) => void) => void;

interface Client {
  send: Send;
  close: () => Promise<unknown>;
}

const CONNECTIONS = 64;
const ROUNDS = 3;
const RATE_MAX = 10_000;
const SECONDS_MAX = 60;

const body = JSON.stringify({
  merchant_id: 'mer_demo_0001',
  card_token: 'card_demo_usd_0001',
  amount_minor: 1999,
  currency: 'USD',
});

const clients: Record<string, (port: number) => Promise<Client>> = {
  'timer alone': async () => ({ send: (_path, _headers, _body, done) => done(201), close: async () => undefined }),
  'undici Pool, pipelining 1': async (port) => {
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CONNECTIONS, pipelining: 1 });
    return {
      send: (path, headers, text, done) => {
        let status = 0;
        pool.dispatch(
          { path, method: 'POST', headers, body: text },
          {
            onRequestStart: () => undefined,
            onResponseStart: (_controller, statusCode) => {
              status = statusCode;
            },
            onResponseData: () => undefined,
            onResponseEnd: () => done(status),
            onResponseError: () => done(0),
          },
        );
      },
      close: () => pool.close(),
    };
  },
  'node:http Agent, keep-alive': async (port) => {
    const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
    return {
      send: (path, headers, text, done) => {
        const outgoing = httpRequest({ host: '127.0.0.1', port, path, method: 'POST', headers, agent }, (answer) => {
          answer.resume();
          answer.on('end', () => done(answer.statusCode ?? 0));
        });
        outgoing.on('error', () => done(0));
        outgoing.end(text);
      },
      close: async () => agent.destroy(),
    };
  },
  'raw socket (chosen)': async (port) => {
    const limits = { inFlightMax: 10_000, connectMsMax: 1_000, answerMsMax: 5_000 };
    const nowMs = (): number => performance.now();
    const pool = new ConnectionPool({ host: '127.0.0.1', port, connections: CONNECTIONS, ...limits, nowMs });
    await pool.open();
    return {
      send: (path, headers, text, done) => {
        let head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n`;
        for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
        const taken = pool.send(`${head}\r\n${text}`, {
          wantsBody: () => false,
          settle: (outcome) => done(outcome.kind === 'answered' ? outcome.status : 0),
        });
        if (!taken) done(0);
      },
      close: () => pool.close(),
    };
  },
};

/** Microseconds of this process's CPU per request, at a constant rate on the timer the generator uses. */
async function measure(client: Client, rate: number, seconds: number): Promise<number> {
  const total = rate * seconds;
  const startMs = performance.now();
  const before = process.cpuUsage();
  let sent = 0;
  let answered = 0;
  let refused = 0;
  await new Promise<void>((resolve) => {
    const tick = (): void => {
      const due = Math.min(total, Math.floor(((performance.now() - startMs) * rate) / 1_000));
      while (sent < due) {
        sent += 1;
        const headers = {
          authorization: `Bearer ${'x'.repeat(400)}`,
          'content-type': 'application/json',
          'content-length': String(body.length),
          'idempotency-key': `compare-${sent}`,
        };
        client.send('/v1/authorizations', headers, body, (status) => {
          answered += 1;
          if (status !== 201) refused += 1;
          if (answered === total) resolve();
        });
      }
      if (sent < total) setTimeout(tick, 1);
    };
    tick();
  });
  const used = process.cpuUsage(before);
  if (refused > 0) throw new Error(`${refused} of ${total} requests were not answered with 201`);
  return (used.user + used.system) / total;
}

async function main(): Promise<void> {
  if (process.argv[2] === 'server') {
    const server = await startStandIn(({ index }) => ({ status: 201, body: approvedBody(`aut_${index}`) }));
    process.send?.(Number(new URL(server.url).port));
    process.once('disconnect', () => process.exit(0));
    return;
  }
  const rate = Math.min(Number(process.argv[2] ?? 1_400), RATE_MAX);
  const seconds = Math.min(Number(process.argv[3] ?? 5), SECONDS_MAX);
  const server = fork(__filename, ['server']);
  const [port] = (await once(server, 'message')) as [number];
  const figures = new Map<string, number[]>();
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, open] of Object.entries(clients)) {
      const client = await open(port);
      const microseconds = await measure(client, rate, seconds);
      await client.close();
      // The first round compiles and warms both sides.
      if (round > 0) figures.set(name, [...(figures.get(name) ?? []), microseconds]);
    }
  }
  server.disconnect();
  for (const [name, each] of figures) {
    console.log(`${name.padEnd(30)} ${each.map((value) => value.toFixed(1).padStart(7)).join('')}  µs CPU per request`);
  }
}

void main();
