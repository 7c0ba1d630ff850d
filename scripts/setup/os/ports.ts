import { randomInt } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { commandOf, processNumbers } from './processes';

export type PortState = 'free' | 'taken' | 'forbidden' | 'no-such-address';

export function portState(host: string, port: number): Promise<PortState> {
  return new Promise((resolve) => {
    // A client that looks for its service again may meet the probe instead: it must not keep the port.
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EACCES') resolve('forbidden');
      else if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') resolve('no-such-address');
      else resolve('taken');
    });
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve('free')));
  });
}

/**
 * A free port on 127.0.0.1. It lies below the range from which the kernel serves outgoing connections, since a
 * service keeps its port over restarts and an outgoing connection must not have taken it meanwhile.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const port = randomInt(15_000, 32_000);
    if ((await portState('127.0.0.1', port)) === 'free') return port;
  }
  return anyFreePort();
}

function anyFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port: 0 }, () => {
      const address = server.address();
      server.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('No free port')),
      );
    });
  });
}

const LISTENING = '0A';

/** Who listens on a port: number and command, as far as this user may see it. */
export function listenerOf(port: number): { pid: number; command: string } | null {
  const sockets = listeningSockets(port);
  if (sockets.size === 0) return null;
  for (const pid of processNumbers()) {
    if (openSocketsOf(pid).some((socket) => sockets.has(socket))) return { pid, command: commandOf(pid) ?? 'unknown' };
  }
  return null;
}

function listeningSockets(port: number): Set<string> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const sockets = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readLines(table)) {
      const fields = line.trim().split(/\s+/);
      if (fields[1]?.endsWith(suffix) && fields[3] === LISTENING) sockets.add(`socket:[${fields[9]}]`);
    }
  }
  return sockets;
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'latin1').split('\n');
  } catch {
    return [];
  }
}

function openSocketsOf(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).map((descriptor) => {
      try {
        return readlinkSync(`${folder}/${descriptor}`);
      } catch {
        return '';
      }
    });
  } catch {
    return [];
  }
}
