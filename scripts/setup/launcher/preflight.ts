import { readSettings, type Settings } from '../../../config/environment';
import { LANES } from '../../../config/lanes';
import { listenerOf, portState } from '../os/ports';
import { projectVersion } from '../project';
import type { ScriptEnvironment } from '../script-environment';
import { SetupError } from '../setup-error';
import type { Listener } from './topology';

/**
 * The application's settings, read before anything slow: what it would refuse after a minute is refused at once. What the
 * launcher will bring itself is stood in for.
 */
export function applicationSettings(environment: ScriptEnvironment): Settings {
  const standIns: Record<string, string | undefined> = {};
  if (environment.postgresEmbedded) {
    for (const lane of LANES)
      standIns[`DATABASE_URL_${lane.toUpperCase()}`] = 'postgres://later@127.0.0.1/payment_core';
    if (!environment.variables['FRAUD_FINGERPRINT_KEY']?.trim()) standIns['FRAUD_FINGERPRINT_KEY'] = 'later'.repeat(8);
  }
  if (environment.redisEmbedded) standIns['REDIS_URL'] = 'redis://127.0.0.1';
  if (environment.keysEmbedded) standIns['JWKS_FILE'] = 'jwks.json';
  return readSettings({ ...environment.variables, ...standIns }, projectVersion);
}

const PASSWORD_LENGTH_MIN = 8;

/** A warning for whoever chose a password that is soon guessed; tests may. */
export function weakPassword({ variables }: ScriptEnvironment): string | null {
  const { length } = variables['OPERATOR_PASSWORD']?.trim() ?? '';
  if (length === 0 || length >= PASSWORD_LENGTH_MIN || variables['NODE_ENV'] === 'test') return null;
  return `warning: OPERATOR_PASSWORD has ${length} characters; take ${PASSWORD_LENGTH_MIN} or more where others reach it`;
}

/** @throws SetupError that says who has the port, as far as this user may see it. */
export async function assertPortFree({ role, host, port }: Listener, command: string): Promise<void> {
  const state = await portState(host, port);
  const setting = role === 'all' ? 'PORT' : `PORT_${role.toUpperCase()}`;
  const other = `${setting}=${role === 'all' ? port + 1 : port + 100} ${command}`;
  switch (state) {
    case 'free':
      return;
    case 'forbidden':
      throw new SetupError(
        `Port ${port} is reserved for root. Take another: ${setting}=${3_000 + (port % 1_000)} ${command}`,
      );
    case 'no-such-address':
      throw new SetupError(`HOST=${host} is no address of this machine; 127.0.0.1 and 0.0.0.0 always are`);
    case 'taken': {
      const listener = listenerOf(port);
      const who = listener === null ? '' : ` by process ${listener.pid} (${listener.command})`;
      throw new SetupError(`Port ${port} on ${host} is taken${who}. End that, or take another port: ${other}`);
    }
    default:
      throw new Error(`Unknown port state ${String(state satisfies never)}`);
  }
}
