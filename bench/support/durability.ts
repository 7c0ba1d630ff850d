import { withClient } from '../../scripts/setup/postgres-client';

const SETTINGS = [
  'server_version',
  'fsync',
  'full_page_writes',
  'synchronous_commit',
  'wal_level',
  'wal_compression',
  'wal_buffers',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'commit_delay',
] as const;

/** Never traded for a figure (contract 14). */
const MUST_BE_ON = ['fsync', 'full_page_writes', 'synchronous_commit'] as const;

export type DurabilitySettings = Readonly<Record<(typeof SETTINGS)[number], string>>;

/**
 * The server's settings as it runs, not as its file says.
 *
 * @throws where it may lose what it has committed: no figure of such a server counts.
 */
export async function readDurability(adminUrl: string): Promise<DurabilitySettings> {
  return withClient(adminUrl, async (client) => {
    const entries: [string, string][] = [];
    for (const name of SETTINGS) {
      const { rows } = await client.query<Record<string, string>>(`SHOW ${name}`);
      entries.push([name, rows[0]?.[name] ?? 'unknown']);
    }
    const settings = Object.fromEntries(entries) as DurabilitySettings;
    const off = MUST_BE_ON.filter((name) => settings[name] !== 'on');
    if (off.length > 0) throw new Error(`PostgreSQL runs without ${off.join(', ')}`);
    return settings;
  });
}

export function describeDurability(settings: DurabilitySettings): string {
  return `PostgreSQL: ${SETTINGS.map((name) => `${name} ${settings[name]}`).join(', ')}`;
}

/**
 * Every run begins right after a checkpoint, the worst place to begin in: the first change of each page is then written
 * whole. Otherwise the runs would differ by where in the server's own 15 minutes they happened to fall.
 */
export async function checkpoint(adminUrl: string): Promise<void> {
  await withClient(adminUrl, (client) => client.query('CHECKPOINT'));
}

/** What the server has written and waited for since it was last asked. */
export interface WalCounters {
  readonly walBytes: number;
  readonly commits: number;
  readonly checkpoints: number;
}

export async function readWalCounters(adminUrl: string): Promise<WalCounters> {
  return withClient(adminUrl, async (client) => {
    const { rows } = await client.query<Record<string, string>>(
      `SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::text AS wal_bytes,
         (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::text AS commits,
         (SELECT num_timed + num_requested FROM pg_stat_checkpointer)::text AS checkpoints`,
    );
    const row = rows[0] ?? {};
    return {
      walBytes: Number(row['wal_bytes']),
      commits: Number(row['commits']),
      checkpoints: Number(row['checkpoints']),
    };
  });
}
