import type { Pool, PoolClient } from 'pg';

/**
 * The parts of pg-pool that its types leave out. A fixed-size pool needs two things that its public side cannot do:
 * open one more connection while others are idle, and take a given idle one out. Everything that leans on the
 * library's inside is in this file, and the integration tests of the pool fail where a new version changes it.
 */
interface PoolInside {
  newClient(pending: { callback: OpenedCallback; timedOut?: boolean }): void;
  _idle: { client: PoolClient }[];
  _remove(client: PoolClient, callback?: () => void): void;
}

type OpenedCallback = (error: Error | undefined, client: PoolClient | undefined, release: Release) => void;
export type Release = (error?: Error | boolean) => void;

interface ClientInside {
  connection?: { stream?: { destroy(): void }; parsedStatements?: Record<string, string> };
}

function inside(pool: Pool): PoolInside {
  return pool as unknown as PoolInside;
}

/** Opens one more connection, whatever is idle; the caller has checked that there is room for it. */
export function openClient(pool: Pool): Promise<{ client: PoolClient; release: Release }> {
  return new Promise((resolve, reject) => {
    inside(pool).newClient({
      callback: (error, client, release) => {
        if (error || !client) reject(error ?? new Error('The pool opened no client'));
        else resolve({ client, release });
      },
    });
  });
}

export function idleClients(pool: Pool): readonly PoolClient[] {
  return inside(pool)._idle.map((item) => item.client);
}

/** Takes an idle connection out of the pool and closes it. False where it is not idle any more. */
export function removeIdleClient(pool: Pool, client: PoolClient): boolean {
  if (!inside(pool)._idle.some((item) => item.client === client)) return false;
  inside(pool)._remove(client);
  destroySocket(client);
  return true;
}

/** Closes the socket at once. The polite goodbye would wait for ever for a server that is frozen. */
export function destroySocket(client: PoolClient): void {
  (client as unknown as ClientInside).connection?.stream?.destroy();
}
