import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../scripts/setup/os/ports';
import { TaxSimulatorProcess } from '../../../scripts/setup/launcher/tax-simulator';
import type { Lane } from '../../../config/lanes';
import type { Closing } from '../../support/closing';
import { install, type Installation } from '../../support/installation';
import { OptionError } from '../../support/options';
import { startTopology, type TopologyName, type TopologyOptions } from '../../support/topology';
import { Provider } from './provider';

/** A caller of the drill: the subject tells its rows from those of others. */
export interface Caller {
  readonly subject: string;
  readonly token: string;
}

/** What is drilled: brought by the drill itself, or running somewhere. */
export interface DrilledSystem {
  readonly topology: TopologyName | 'running';
  urlOf(lane: Lane): string;
  readonly provider: Provider;
  /** The administrator's URL of the database, for what only the database can say. */
  readonly adminUrl: string;
  /** A folder for the files of the drill. */
  readonly folder: string;
  caller(name: string, scopes: readonly string[]): Promise<Caller>;
  /** Null where the drill may not break anything: a running system's operator is not ours. */
  readonly operatorPassword: string | null;
  readonly installation: Installation | null;
}

const callerName = (name: string): string => `drill-${name}-${randomBytes(6).toString('hex')}`;

/** PostgreSQL, Redis, the simulator and a topology, all of the drill's own. */
export async function bringSystem(
  topology: TopologyName,
  closing: Closing,
  options: TopologyOptions = {},
): Promise<DrilledSystem> {
  const installation = await install(closing);
  const simulator = await TaxSimulatorProcess.start(await freePort());
  closing.add("the tax provider's simulator", () => simulator.stop());
  return startOn(installation, simulator.url, topology, closing, options);
}

/** Another topology on an installation that is there. */
export async function startOn(
  installation: Installation,
  providerUrl: string,
  topology: TopologyName,
  closing: Closing,
  options: TopologyOptions = {},
): Promise<DrilledSystem & { stop(): Promise<void> }> {
  const environment = { PAYMENT_FAULTS: '1', TAX_PROVIDER_URL: providerUrl, ...options.environment };
  const started = await startTopology(topology, installation, closing, { ...options, environment });
  return {
    topology,
    urlOf: (lane) => started.urlOf(lane),
    provider: new Provider(providerUrl),
    adminUrl: installation.adminUrl,
    folder: installation.folder,
    operatorPassword: installation.operatorPassword,
    installation,
    caller: async (name, scopes) => {
      const subject = callerName(name);
      return { subject, token: await installation.token(subject, scopes) };
    },
    stop: () => started.stop(),
  };
}

export interface RunningSystem {
  readonly urls: Readonly<Record<Lane, string>>;
  readonly providerUrl: string;
  readonly adminUrl: string;
  readonly token: string;
}

/** A system that runs already, with a token for its cards and its taxes. */
export function runningSystem({ urls, providerUrl, adminUrl, token }: RunningSystem, closing: Closing): DrilledSystem {
  const folder = mkdtempSync(join(tmpdir(), 'payment-core-drill-'));
  closing.add('the drill’s folder', async () => rmSync(folder, { recursive: true, force: true }));
  const caller = { subject: subjectOf(token), token };
  return {
    topology: 'running',
    urlOf: (lane) => urls[lane],
    provider: new Provider(providerUrl),
    adminUrl,
    folder,
    operatorPassword: null,
    installation: null,
    caller: async () => caller,
  };
}

/** @throws OptionError where it is no token. */
function subjectOf(token: string): string {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub?: unknown };
    if (typeof claims.sub === 'string') return claims.sub;
  } catch {
    // Said below.
  }
  throw new OptionError(
    'the token file holds no token: npm run -s token -- --subject drill --scope authorizations,tax',
  );
}
