import { Client, type ClientBase } from 'pg';

/** A server's URL with another database. */
export function withDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${encodeURIComponent(database)}`;
  return changed.toString();
}

/** PostgreSQL's own rule: a URL without a database means one named like the user. */
export function databaseOf(url: string): string {
  const { pathname, username } = new URL(url);
  return decodeURIComponent(pathname.replace(/^\//, '')) || decodeURIComponent(username);
}

export interface ClientSettings {
  /** Startup options, for instance `-c role=card_auth_owner`. */
  options?: string;
  applicationName?: string;
}

/** Runs `work` on one connection, which is closed whatever happens. */
export async function withClient<T>(
  url: string,
  work: (client: ClientBase) => Promise<T>,
  settings: ClientSettings = {},
): Promise<T> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: 10_000,
    application_name: settings.applicationName ?? 'payment-core-setup',
    ...(settings.options === undefined ? {} : { options: settings.options }),
  });
  // The server may end while nothing runs on the connection; the next statement then says so.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** One set-up at a time per database; the lock goes with its connection. */
export async function withSetupLock<T>(url: string, work: (client: ClientBase) => Promise<T>): Promise<T> {
  return withClient(url, async (client) => {
    await client.query("select pg_advisory_lock(hashtextextended('payment-core:setup', 0))");
    return work(client);
  });
}

export function sqlState(error: unknown): string | undefined {
  return (error as { code?: string } | null)?.code;
}
