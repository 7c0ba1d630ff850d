import { totalmem } from 'node:os';

export interface PostgresSettingsInput {
  port: number;
  connectionsMax: number;
  /** False for throw-away test clusters only: a crash of the machine may then lose what was committed. */
  durable: boolean;
  memoryBytes?: number;
}

const GIB = 1024 ** 3;

/**
 * The server's settings. Few and far checkpoints: after each, the first change of a page writes it whole to the WAL,
 * which is what the payment path feels most. Durability itself is never traded in a cluster that holds data.
 */
export function postgresSettings(input: PostgresSettingsInput): string {
  const memoryBytes = input.memoryBytes ?? totalmem();
  const small = memoryBytes < 4 * GIB;
  const large = memoryBytes >= 16 * GIB;
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(input.port),
    // A socket in a shared folder could be reached, or planted, by any local user.
    unix_socket_directories: '',
    password_encryption: 'scram-sha-256',
    max_connections: String(input.connectionsMax),
    shared_buffers: small || !input.durable ? '128MB' : '512MB',
    // At 16,000 ledger entries a second 4 GB would be a checkpoint every four minutes; so it is the 15 minutes below.
    max_wal_size: input.durable ? (large ? '16GB' : '4GB') : '512MB',
    min_wal_size: input.durable ? '1GB' : '80MB',
    checkpoint_timeout: '15min',
    wal_compression: 'pglz',
    jit: 'off',
    // A killed process's connections count against its lane's limit until PostgreSQL notices (default: never).
    client_connection_check_interval: '500ms',
    fsync: input.durable ? 'on' : 'off',
    full_page_writes: input.durable ? 'on' : 'off',
    synchronous_commit: input.durable ? 'on' : 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] %q%u@%d ',
    // Statements carry card tokens and amounts, which no log may hold.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_parameter_max_length_on_error: '0',
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value}'\n`)
    .join('');
}
