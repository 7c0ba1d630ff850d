import { laneUrlFromServerUrl } from '../../../config/data-sources';
import { readSettings, type SettingFault, SettingsError } from '../../../config/environment';
import { type Lane, LANES, laneTable } from '../../../config/lanes';
import { roleTable, SUPERVISED_ROLES, type SupervisedRole } from './role-table';

export type Source = Readonly<Record<string, string | undefined>>;

/** What every process needs of the system: where programs, certificates and proxies are, how Node runs. */
const SYSTEM_NAMES = [
  ...['PATH', 'HOME', 'USER', 'TMPDIR', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH'],
  ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY', 'NODE_V8_COVERAGE'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'PGSSLMODE'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
];

/** Settings that are the same for every process. `OPERATOR_PASSWORD` opens `/faults` on a lane's own port. */
const COMMON_NAMES = [
  ...['HOST', 'LOG_LEVEL', 'PAYMENT_FAULTS', 'DRAIN_GRACE_MS', 'RETRY_GUARD', 'REPLICAS', 'REPLICAS_SURGE'],
  ...['JWKS_FILE', 'JWKS_URL', 'JWT_ISSUER', 'JWT_AUDIENCE', 'OPERATOR_PASSWORD'],
];

/** Only the fraud process may know what card tokens are fingerprinted with. */
const FRAUD_NAMES = ['FRAUD_FINGERPRINT_KEY', 'FRAUD_RULES_FILE'];
const TAX_NAMES = ['TAX_PROVIDER_URL', 'TAX_PROVIDER_TOKEN', 'TAX_PROVIDER_TIMEOUT_MS'];

/** Figures of a lane: nothing secret, and every process counts the connections of all. */
const LANE_FIGURE = /^LANE_(?!URL_)/;

const OPERATOR_PORT = 3_000;
const PORT_MAX = 65_535;
/** It has nothing to bring to an end, and the lanes need the time. */
const OPERATOR_DRAIN_MS = 1_000;

function read(source: Source, name: string): string | undefined {
  const value = source[name]?.trim();
  return value === '' ? undefined : value;
}

/**
 * The port of each process: `PORT_<ROLE>`, else that of contract 15. A generic `PORT` moves all five together, so
 * that a second installation needs one setting: the operator answers there and the lanes on the four ports after it.
 *
 * @throws SettingsError where one is no port, or two processes would share one.
 */
export function portsOf(source: Source): Record<SupervisedRole, number> {
  const faults: SettingFault[] = [];
  const portOf = (name: string, fallback: number): number => {
    const value = read(source, name);
    if (value === undefined) return fallback;
    const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
    if (port >= 1 && port <= PORT_MAX) return port;
    faults.push({ name, value, expected: `a port from 1 to ${PORT_MAX}, for instance ${fallback}` });
    return fallback;
  };
  const base = portOf('PORT', OPERATOR_PORT);
  const usual = (role: SupervisedRole): number =>
    role === 'operator' ? base : base + laneTable[role].portIsolated - OPERATOR_PORT;
  const ports = {} as Record<SupervisedRole, number>;
  for (const role of SUPERVISED_ROLES) {
    const name = `PORT_${role.toUpperCase()}`;
    const port = portOf(name, usual(role));
    const holder = SUPERVISED_ROLES.find((other) => ports[other] === port);
    if (holder !== undefined) {
      faults.push({ name, value: String(port), expected: `a port of its own; ${port} is that of ${holder}` });
    }
    if (port > PORT_MAX) faults.push({ name: 'PORT', value: String(base), expected: `at most ${PORT_MAX - 4}` });
    ports[role] = port;
  }
  if (faults.length > 0) throw new SettingsError(faults);
  return ports;
}

/** Where the processes listen: an address of this machine, or every one. */
export function hostOf(source: Source): string {
  return read(source, 'HOST') ?? '127.0.0.1';
}

/**
 * The whole environment of one process, and nothing that belongs to another one: a tax process learns no login but its
 * own [ADV-FD-01]. Names that are in none of the lists above reach nobody.
 */
export function environmentOf(role: SupervisedRole, source: Source): Record<string, string> {
  const environment: Record<string, string> = {};
  const give = (name: string, value: string | undefined): void => {
    if (value !== undefined) environment[name] = value;
  };
  const own = role === 'tax' ? TAX_NAMES : role === 'fraud' ? FRAUD_NAMES : [];
  for (const name of [...SYSTEM_NAMES, ...COMMON_NAMES, ...own]) give(name, read(source, name));
  for (const name of Object.keys(source)) {
    if (LANE_FIGURE.test(name)) give(name, read(source, name));
  }
  const ports = portsOf(source);
  for (const each of SUPERVISED_ROLES) environment[`PORT_${each.toUpperCase()}`] = String(ports[each]);
  for (const lane of LANES) {
    const name = lane.toUpperCase();
    if (lane === role) give(`DATABASE_URL_${name}`, databaseUrlOf(lane, source));
    if (seesQueuesOf(role, lane)) give(`REDIS_URL_${name}`, redisUrlOf(lane, source));
    if (role === 'operator') give(`LANE_URL_${name}`, laneUrlOf(lane, source, ports[lane]));
  }
  environment['PAYMENT_ROLE'] = role;
  environment['UV_THREADPOOL_SIZE'] = read(source, 'UV_THREADPOOL_SIZE') ?? String(roleTable[role].threadPoolSize);
  if (role === 'operator') environment['DRAIN_GRACE_MS'] = String(operatorDrainMs(source));
  return environment;
}

/** From a login for the whole server the lane's own is made here, so that no process ever sees the former. */
function databaseUrlOf(lane: Lane, source: Source): string | undefined {
  const server = read(source, 'DATABASE_URL');
  const own = read(source, `DATABASE_URL_${lane.toUpperCase()}`);
  if (own !== undefined || server === undefined || !URL.canParse(server)) return own ?? server;
  return laneUrlFromServerUrl(server, laneTable[lane].datasource.role);
}

function redisUrlOf(lane: Lane, source: Source): string | undefined {
  return read(source, `REDIS_URL_${lane.toUpperCase()}`) ?? read(source, 'REDIS_URL');
}

/** The operator's board shows all queues; a lane sees its own and those whose jobs it runs (contract 3). */
function seesQueuesOf(role: SupervisedRole, lane: Lane): boolean {
  if (role === 'operator' || role === lane) return true;
  const consumed: readonly string[] = laneTable[role].consumes;
  return laneTable[lane].queues.some(({ name }) => consumed.includes(name));
}

/** Where the operator's process finds a lane's: a process that listens on one address answers on no other. */
function laneUrlOf(lane: Lane, source: Source, port: number): string {
  const host = hostOf(source);
  const address = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host;
  const given = read(source, `LANE_URL_${lane.toUpperCase()}`);
  return given ?? `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
}

function operatorDrainMs(source: Source): number {
  const given = Number(read(source, 'DRAIN_GRACE_MS') ?? OPERATOR_DRAIN_MS);
  return Number.isNaN(given) ? OPERATOR_DRAIN_MS : Math.min(given, OPERATOR_DRAIN_MS);
}

/**
 * Refuses what a process would refuse, before any is started; also a misspelt name, which would reach none of them.
 *
 * @throws SettingsError with every fault found.
 */
export function assertUsable(source: Source, version: string): void {
  const faults = new Map<string, SettingFault>();
  const { PORT: _port, ...named } = source;
  const environments = SUPERVISED_ROLES.map((role) => environmentOf(role, source));
  for (const environment of [{ ...named, PAYMENT_ROLE: 'operator' }, ...environments]) {
    try {
      readSettings(environment, version);
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      for (const fault of error.faults) faults.set(`${fault.name}\n${fault.expected}`, fault);
    }
  }
  if (faults.size > 0) throw new SettingsError([...faults.values()]);
}
