import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { laneUrlFromServerUrl } from './data-sources';
import {
  type BulkheadSpecification,
  type DatasourceSpecification,
  type Lane,
  type LaneSpecification,
  LANES,
  laneTable,
  type Role,
  ROLES,
} from './lanes';

/** One lane as this process runs it: its row of the table with the environment's changes. */
export interface LaneSettings {
  lane: Lane;
  specification: LaneSpecification;
  bulkhead: BulkheadSpecification;
  readBulkhead: BulkheadSpecification | null;
  datasource: DatasourceSpecification;
  /** Null where this process does not host the lane and nothing was given. */
  databaseUrl: string | null;
  redisUrl: string | null;
  /** Where the lane's own process answers in the isolated topology; the operator's process asks it for its health. */
  processUrl: string;
}

/** What the fraud lane alone needs to know. */
export interface FraudSettings {
  /** The key of the card fingerprints; null where this process does not host the lane. */
  fingerprintKey: string | null;
  rulesFile: string;
}

/** How a caller's retries are judged (contract 8). */
export type RetryGuardMode = 'default' | 'strict' | 'observe';

/** Every setting of the process, validated, frozen, and read from the environment nowhere else. */
export interface Settings {
  role: Role;
  host: string;
  port: number;
  version: string;
  production: boolean;
  logLevel: string;
  faultsEnabled: boolean;
  drainGraceMs: number;
  retryGuard: RetryGuardMode;
  jwt: { jwksFile: string | null; jwksUrl: string | null; issuer: string; audience: string };
  operatorPassword: string | null;
  fraud: FraudSettings;
  /** The token goes to the provider as a bearer's. */
  taxProvider: { url: string; token: string | null; timeoutMs: number };
  lanes: Readonly<Record<Lane, LaneSettings>>;
  /** Replicas that share a lane's role, and the extra ones during a roll-out: they size the role's connection limit. */
  replicas: number;
  replicaSurge: number;
}

export interface SettingFault {
  name: string;
  /** As given, secrets masked; null where it was not given. */
  value: string | null;
  expected: string;
}

/** The process must not start: each fault names the setting, what it was and what would be right. */
export class SettingsError extends Error {
  constructor(readonly faults: readonly SettingFault[]) {
    const lines = faults.map(
      ({ name, value, expected }) => `  ${name}${value === null ? ' is not set' : ` = ${value}`}: ${expected}`,
    );
    super(`The settings are not usable, so nothing was started:\n${lines.join('\n')}`);
    this.name = 'SettingsError';
  }
}

type Source = Readonly<Record<string, string | undefined>>;

const SECRET_NAME = /PASSWORD|TOKEN|SECRET|_KEY$/;
/** A hosted lane may take any of these; a name outside the list is a typing error, and is refused. */
const LANE_KNOBS = ['PERMITS', 'QUEUE', 'QUEUE_WAIT_MS', 'POOL', 'EXECUTION_MS'] as const;
type LaneKnob = (typeof LANE_KNOBS)[number];

const knobRange: Record<LaneKnob, { min: number; max: number }> = {
  PERMITS: { min: 1, max: 10_000 },
  QUEUE: { min: 0, max: 10_000 },
  QUEUE_WAIT_MS: { min: 0, max: 60_000 },
  POOL: { min: 1, max: 1_000 },
  EXECUTION_MS: { min: 100, max: 120_000 },
};

/** Masks what must not be printed: passwords inside URLs, and whole values of secret settings. */
export function maskSetting(name: string, value: string): string {
  if (SECRET_NAME.test(name)) return '****';
  return value.replace(/(\w+:\/\/[^:@/\s]*:)[^@/\s]*@/g, '$1****@');
}

/** Reads settings one by one and collects every fault, so that one start shows all that is wrong. */
class SettingsReader {
  readonly faults: SettingFault[] = [];

  constructor(private readonly source: Source) {}

  fault(name: string, expected: string): void {
    const value = this.raw(name);
    this.faults.push({ name, value: value === undefined ? null : maskSetting(name, value), expected });
  }

  raw(name: string): string | undefined {
    const value = this.source[name];
    return value === undefined || value.trim() === '' ? undefined : value.trim();
  }

  parse<T>(name: string, schema: z.ZodType<T>, fallback: T, expected: string): T {
    const value = this.raw(name);
    if (value === undefined) return fallback;
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    this.fault(name, expected);
    return fallback;
  }

  integer(name: string, fallback: number, range: { min: number; max: number }): number {
    const schema = z.string().regex(/^\d+$/).transform(Number).pipe(z.number().int().min(range.min).max(range.max));
    return this.parse(
      name,
      schema,
      fallback,
      `a whole number from ${range.min} to ${range.max}, for instance ${fallback}`,
    );
  }

  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
    return this.parse(name, z.enum(values as [T, ...T[]]), fallback, `one of ${values.join(', ')}`);
  }

  url(name: string, protocols: readonly string[], example: string): string | null {
    const schema = z.string().refine((value) => {
      const url = URL.parse(value);
      return url !== null && protocols.includes(url.protocol) && url.hostname !== '';
    });
    return this.parse<string | null>(name, schema, null, `a URL such as ${example}`);
  }
}

const portRange = { min: 1, max: 65_535 };
const postgresProtocols = ['postgres:', 'postgresql:'];
const redisProtocols = ['redis:', 'rediss:'];

/** The lanes that a process of this role hosts. */
export function lanesOfRole(role: Role): readonly Lane[] {
  if (role === 'all') return LANES;
  if (role === 'operator') return [];
  return [role];
}

function readLane(reader: SettingsReader, lane: Lane, hosted: boolean): LaneSettings {
  const specification: LaneSpecification = laneTable[lane];
  const prefix = `LANE_${lane.toUpperCase()}_`;
  const knob = (name: LaneKnob, fallback: number): number =>
    reader.integer(`${prefix}${name}`, fallback, knobRange[name]);

  const bulkhead: BulkheadSpecification = {
    ...specification.bulkhead,
    permits: knob('PERMITS', specification.bulkhead.permits),
    queueMax: knob('QUEUE', specification.bulkhead.queueMax),
    queueWaitMsMax: knob('QUEUE_WAIT_MS', specification.bulkhead.queueWaitMsMax),
    executionMsMax: knob('EXECUTION_MS', specification.bulkhead.executionMsMax),
  };
  if (specification.bulkhead.queueMax === 0 && bulkhead.queueMax > 0) {
    reader.fault(`${prefix}QUEUE`, 'this lane has no queue and sheds at once, so only 0 is right [INV-BH-02]');
  } else if (bulkhead.queueMax > 0 && bulkhead.queueWaitMsMax === 0) {
    reader.fault(`${prefix}QUEUE_WAIT_MS`, `at least 1 while ${prefix}QUEUE is above 0`);
  }
  const datasource = { ...specification.datasource, connections: knob('POOL', specification.datasource.connections) };

  const ownUrl = `DATABASE_URL_${lane.toUpperCase()}`;
  const serverUrl = reader.url(
    'DATABASE_URL',
    postgresProtocols,
    'postgres://admin:secret@127.0.0.1:5432/payment_core',
  );
  const databaseUrl =
    reader.url(ownUrl, postgresProtocols, `postgres://${datasource.role}:secret@127.0.0.1:5432/payment_core`) ??
    (serverUrl === null ? null : laneUrlFromServerUrl(serverUrl, datasource.role));
  const redisUrl =
    reader.url(`REDIS_URL_${lane.toUpperCase()}`, redisProtocols, 'redis://127.0.0.1:6379') ??
    reader.url('REDIS_URL', redisProtocols, 'redis://127.0.0.1:6379');
  if (hosted && databaseUrl === null && !reader.raw(ownUrl) && !reader.raw('DATABASE_URL')) {
    reader.fault(ownUrl, `the lane's database, or DATABASE_URL for all lanes; \`npm start\` brings one by itself`);
  }
  if (hosted && redisUrl === null && !reader.raw('REDIS_URL')) {
    reader.fault(`REDIS_URL_${lane.toUpperCase()}`, `the lane's Redis, or REDIS_URL for all lanes`);
  }
  return {
    lane,
    specification,
    bulkhead,
    readBulkhead: specification.readBulkhead && {
      ...specification.readBulkhead,
      executionMsMax: bulkhead.executionMsMax,
    },
    datasource,
    databaseUrl,
    redisUrl,
    processUrl: processUrl(reader, lane),
  };
}

/** `LANE_URL_<LANE>`, or the lane's port on this machine. */
function processUrl(reader: SettingsReader, lane: Lane): string {
  const port = reader.integer(`PORT_${lane.toUpperCase()}`, laneTable[lane].portIsolated, portRange);
  const local = `http://127.0.0.1:${port}`;
  return reader.url(`LANE_URL_${lane.toUpperCase()}`, ['http:', 'https:'], local) ?? local;
}

function readPort(reader: SettingsReader, role: Role): number {
  const fallback = role === 'all' || role === 'operator' ? 3000 : laneTable[role].portIsolated;
  const common = reader.integer('PORT', fallback, portRange);
  return reader.integer(`PORT_${role.toUpperCase()}`, common, portRange);
}

function readIdentity(reader: SettingsReader): Settings['jwt'] {
  const jwksFile = reader.raw('JWKS_FILE') ?? null;
  const jwksUrl = reader.url('JWKS_URL', ['http:', 'https:'], 'https://id.example.com/.well-known/jwks.json');
  if (jwksFile === null && jwksUrl === null && !reader.raw('JWKS_URL')) {
    reader.fault('JWKS_FILE', 'a file with the public keys that callers are known by, or JWKS_URL');
  }
  if (jwksFile !== null && jwksUrl !== null) reader.fault('JWKS_URL', 'either this or JWKS_FILE, not both');
  return {
    jwksFile,
    jwksUrl,
    issuer: reader.raw('JWT_ISSUER') ?? 'payment-core',
    audience: reader.raw('JWT_AUDIENCE') ?? 'payment-core',
  };
}

const FINGERPRINT_KEY_LENGTH_MIN = 32;

function readFraud(
  reader: SettingsReader,
  { databaseUrl }: LaneSettings,
  hosted: boolean,
  production: boolean,
): FraudSettings {
  const key = reader.raw('FRAUD_FINGERPRINT_KEY');
  if (key !== undefined && key.length < FINGERPRINT_KEY_LENGTH_MIN) {
    reader.fault('FRAUD_FINGERPRINT_KEY', `${FINGERPRINT_KEY_LENGTH_MIN} random characters or more`);
  }
  if (key === undefined && hosted && production) {
    reader.fault(
      'FRAUD_FINGERPRINT_KEY',
      `the key that card tokens are fingerprinted with, ${FINGERPRINT_KEY_LENGTH_MIN} random characters or more, and the ` +
        'same for as long as the history of a card is to be found',
    );
  }
  return {
    fingerprintKey: hosted ? (key ?? keyFromDatabaseUrl(databaseUrl)) : null,
    rulesFile: reader.raw('FRAUD_RULES_FILE') ?? join(__dirname, 'fraud', 'rules.json'),
  };
}

/** For development, where none is given: as secret as the lane's login, and the same at every start. */
function keyFromDatabaseUrl(databaseUrl: string | null): string | null {
  if (databaseUrl === null) return null;
  const { password } = new URL(databaseUrl);
  return createHmac('sha256', decodeURIComponent(password))
    .update('payment-core:fraud-fingerprint')
    .digest('base64url');
}

/** Where the provider's simulator listens (contract 15); it is development equipment, so production must name a provider. */
const TAX_SIMULATOR_URL = 'http://127.0.0.1:3010';

function readTaxProvider(reader: SettingsReader, required: boolean): Settings['taxProvider'] {
  const url = reader.url('TAX_PROVIDER_URL', ['http:', 'https:'], 'https://api.taxjar.com');
  if (required && url === null && !reader.raw('TAX_PROVIDER_URL')) {
    reader.fault('TAX_PROVIDER_URL', 'the tax provider, for instance https://api.taxjar.com');
  }
  return {
    url: url ?? TAX_SIMULATOR_URL,
    token: reader.raw('TAX_PROVIDER_TOKEN') ?? null,
    timeoutMs: reader.integer('TAX_PROVIDER_TIMEOUT_MS', 4_000, { min: 50, max: 60_000 }),
  };
}

/** A misspelt setting would be ignored in silence, which is how a limit gets lost: families of names are closed. */
function refuseUnknownNames(reader: SettingsReader, source: Source): void {
  const lanes = LANES.map((lane) => lane.toUpperCase());
  const roles = ROLES.map((role) => role.toUpperCase());
  const families: readonly { prefix: string; known: readonly string[] }[] = [
    {
      prefix: 'LANE_',
      known: lanes.flatMap((lane) => [...LANE_KNOBS.map((knob) => `LANE_${lane}_${knob}`), `LANE_URL_${lane}`]),
    },
    { prefix: 'PORT_', known: roles.map((role) => `PORT_${role}`) },
    { prefix: 'DATABASE_URL_', known: lanes.map((lane) => `DATABASE_URL_${lane}`) },
    { prefix: 'REDIS_URL_', known: lanes.map((lane) => `REDIS_URL_${lane}`) },
    { prefix: 'FRAUD_', known: ['FRAUD_FINGERPRINT_KEY', 'FRAUD_RULES_FILE'] },
  ];
  for (const name of Object.keys(source)) {
    const family = families.find(({ prefix }) => name.startsWith(prefix));
    if (family && !family.known.includes(name)) {
      reader.fault(name, `there is no such setting; ${family.prefix}… knows ${family.known.join(', ')}`);
    }
  }
}

/**
 * Parses the environment into the one frozen settings object.
 *
 * @throws SettingsError with every fault found, secrets masked.
 */
export function readSettings(source: Source, version: string): Settings {
  const reader = new SettingsReader(source);
  refuseUnknownNames(reader, source);
  const role = reader.oneOf('PAYMENT_ROLE', ROLES, 'all');
  const hosted = lanesOfRole(role);
  const production = reader.raw('NODE_ENV') === 'production';
  const faultsEnabled = reader.oneOf('PAYMENT_FAULTS', ['0', '1'], '0') === '1';
  if (faultsEnabled && production) reader.fault('PAYMENT_FAULTS', 'never 1 with NODE_ENV=production');

  const lanes = Object.fromEntries(
    LANES.map((lane) => [lane, readLane(reader, lane, hosted.includes(lane))]),
  ) as Record<Lane, LaneSettings>;
  const settings: Settings = {
    role,
    host: reader.raw('HOST') ?? '127.0.0.1',
    port: readPort(reader, role),
    version,
    production,
    logLevel: reader.oneOf('LOG_LEVEL', ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'info'),
    faultsEnabled,
    drainGraceMs: reader.integer('DRAIN_GRACE_MS', 25_000, { min: 100, max: 600_000 }),
    retryGuard: reader.oneOf('RETRY_GUARD', ['default', 'strict', 'observe'], 'default'),
    jwt: readIdentity(reader),
    operatorPassword: reader.raw('OPERATOR_PASSWORD') ?? null,
    fraud: readFraud(reader, lanes.fraud, hosted.includes('fraud'), production),
    taxProvider: readTaxProvider(reader, production && hosted.includes('tax')),
    lanes,
    replicas: reader.integer('REPLICAS', 1, { min: 1, max: 100 }),
    replicaSurge: reader.integer('REPLICAS_SURGE', 0, { min: 0, max: 100 }),
  };
  if (reader.faults.length > 0) throw new SettingsError(deduplicate(reader.faults));
  return deepFreeze(settings);
}

/** The settings of this process: the one place where the product meets `process.env`. */
export function readProcessSettings(version: string): Settings {
  return readSettings(process.env, version);
}

/** A setting shared by all lanes is read once per lane, and would be reported once per lane. */
function deduplicate(faults: readonly SettingFault[]): SettingFault[] {
  return [...new Map(faults.map((fault) => [`${fault.name}\n${fault.expected}`, fault])).values()];
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

/** The settings as operators may see them in `/health` and the console: nothing secret. */
export function describeSettings(settings: Settings): unknown {
  return JSON.parse(
    JSON.stringify(settings, (name, value: unknown) => {
      if (typeof value !== 'string') return value;
      return maskSetting(/password|token|key$/i.test(name) ? 'SECRET' : name, value);
    }),
  );
}
