import { randomBytes } from 'node:crypto';
import type { Settings } from '../../../config/environment';
import { laneTable } from '../../../config/lanes';
import type { ScriptEnvironment } from '../script-environment';
import type { SecretsWithKeys } from '../secrets';
import { signToken } from '../tokens';
import type { Listener } from './topology';

const TOKEN_SECONDS = 12 * 3_600;

export interface BannerInput {
  environment: ScriptEnvironment;
  settings: Settings;
  secrets: SecretsWithKeys;
  /** Of the process that serves the operators' pages; the only one where there is one. */
  url: string;
  /** Every process that serves. */
  listeners: readonly Listener[];
  /** The tax provider's simulator; null where a real one is given. */
  simulatorUrl: string | null;
  /** Where PostgreSQL's and Redis's files are; null where neither is embedded. */
  servicesFolder: string | null;
  startedInMs: number;
}

/** What somebody needs for a first try, each line good for copying. */
export async function banner(input: BannerInput): Promise<string> {
  const { environment, settings, secrets, listeners } = input;
  const url = reachable(input.url);
  const password = settings.operatorPassword === null ? secrets.operatorPassword : '(as given with OPERATOR_PASSWORD)';
  const lines = [
    '',
    `payment-core ${settings.version} serves (ready in ${(input.startedInMs / 1_000).toFixed(1)} s)`,
    '',
    ...(listeners.length > 1 ? listeners.map(processLine) : [`  API        ${url}/v1        reference ${url}/docs`]),
    `  health     ${url}/health    metrics   ${listeners.length > 1 ? '/metrics of each process' : `${url}/metrics`}`,
    `  queues     ${url}/queues    (user: operator  password: ${password})`,
    ...(input.simulatorUrl === null
      ? []
      : [`  tax        the provider is a simulator, development equipment: ${input.simulatorUrl}/control`]),
    '',
    '  tokens     npm run -s token -- --subject checkout --scope authorizations',
    ...dataLines(environment.dataFolder, input.servicesFolder),
  ];
  const cards = listeners.find(({ role }) => role === 'all' || role === 'authorization');
  if (environment.keysEmbedded && cards !== undefined) {
    lines.push('', await firstTry(listeners.length > 1 ? urlOf(cards) : url, input));
  }
  return `${lines.join('\n')}\n`;
}

/** Where the services' user cannot reach the data folder, only keys and passwords are in it. */
function dataLines(dataFolder: string, servicesFolder: string | null): string[] {
  const stop = '  stop       Ctrl-C           data      ';
  if (servicesFolder === null || servicesFolder === dataFolder) return [stop + dataFolder];
  return [`${stop}${servicesFolder}`, `${' '.repeat(stop.length)}keys and passwords in ${dataFolder}`];
}

/** In the isolated topology each lane answers at an address of its own. */
function processLine(listener: Listener): string {
  const pages = listener.role === 'operator' ? '    (/docs, /queues, /health of all)' : '/v1';
  return `  ${listener.role.padEnd(14)} ${urlOf(listener)}${pages}`;
}

/** A new key each time: the line pasted after the next start is a new authorization, and twice is a replay. */
async function firstTry(url: string, { environment, secrets }: BannerInput): Promise<string> {
  const token = await signToken(secrets.signingKey.privateJwk, {
    subject: 'checkout',
    scopes: [laneTable.authorization.scope],
    merchants: '*',
    issuer: environment.jwtIssuer,
    audience: environment.jwtAudience,
    expiresInSeconds: TOKEN_SECONDS,
  });
  const body = { merchant_id: 'mer_demo_0001', card_token: 'card_demo_usd_0001', amount_minor: 1250, currency: 'USD' };
  return [
    `curl -i ${url}/v1/authorizations`,
    `-H "Authorization: Bearer ${token}"`,
    `-H "Idempotency-Key: first-try-${randomBytes(4).toString('hex')}"`,
    '-H "Content-Type: application/json"',
    `-d '${JSON.stringify(body)}'`,
  ].join(' ');
}

function urlOf({ host, port }: Listener): string {
  return reachable(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
}

/** The address that means every interface is no address to go to. */
function reachable(url: string): string {
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1').replace(/\/$/, '');
}
