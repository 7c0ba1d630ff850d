import { setTimeout as delay } from 'node:timers/promises';
import type { INestApplication } from '@nestjs/common';
import type { Edge } from '../ingress/install-edge';
import type { ProcessContext } from './process-context';

/** After the grace, what still holds the process is not waited for again; closing gets this much at the most. */
const CLOSE_MS_MAX = 5_000;
/**
 * New work gets a polite 503 for at least this long, even where nothing is in flight: balancers see it before a
 * refusal to connect, and clients that have just connected get an answer.
 */
const LINGER_MS = 500;

/**
 * Ends the process's work in the order of contract 13: unready → new work 503 → answers under way → permits → workers →
 * pools → Redis (the last four by Nest's own hooks, in which each owner has its place). The listener stays open as
 * long as answers are under way and is closed before any connection; then nobody's idle, half-sent or unread
 * connection is waited for.
 *
 * @returns 0 when everything accepted was answered within the grace, else 1.
 */
export async function stopProcess(app: INestApplication, edge: Edge, context: ProcessContext): Promise<0 | 1> {
  const { draining, log, settings, clock, tokens } = context;
  const startedAtMs = clock.now();
  const remainingMs = (): number => Math.max(1, settings.drainGraceMs - (clock.now() - startedAtMs));
  draining.begin();
  log.info({ in_flight: draining.inFlight }, 'draining');
  await delay(Math.min(LINGER_MS, settings.drainGraceMs));

  await within(draining.idle(), remainingMs());
  await edge.stopListening();
  const answered = await within(draining.idle(), remainingMs());
  if (!answered) log.error({ in_flight: draining.inFlight }, 'work has outlasted the grace and is cut off');
  edge.closeConnections();
  const closed = await within(app.close(), answered ? remainingMs() + CLOSE_MS_MAX : CLOSE_MS_MAX);
  if (!closed) log.error({}, 'closing has outlasted its limit');
  tokens.close();
  edge.close();
  return answered && closed ? 0 : 1;
}

/** Whether it ended in time. What it failed with is the caller's to hear. */
async function within(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  const timer = new AbortController();
  const ended = work.then(() => true);
  // The loser of the race must not fail unheard later.
  ended.catch(() => {});
  try {
    return await Promise.race([ended, delay(limitMs, false, { signal: timer.signal }).catch(() => false)]);
  } finally {
    timer.abort();
  }
}
