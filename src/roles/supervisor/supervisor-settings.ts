import { type SettingFault, SettingsError } from '../../../config/environment';
import type { Source } from './role-environment';

/** How often a process that dies is started again. */
export interface RestartLimits {
  /** Restarts of one process within the window; the next death is its last. */
  restartsMax: number;
  windowMs: number;
  /** The wait before the first restart, doubled by each further one. */
  backoffMsMin: number;
  backoffMsMax: number;
  /** A process that has run this long died of something new: its wait begins at the minimum again. */
  steadyMs: number;
}

export interface StopLimits {
  /** From SIGTERM until a lane's process is killed. */
  laneMsMax: number;
  operatorMsMax: number;
}

export interface SupervisorSettings {
  restarts: RestartLimits;
  stop: StopLimits;
  logLevel: string;
}

/** A process drains for its grace and closes after it; a launcher or an engine that kills after 30 s must not have to. */
const CLOSE_MS = 2_500;
const OPERATOR_STOP_MS = 1_500;

/** @throws SettingsError with every fault found. */
export function readSupervisorSettings(source: Source): SupervisorSettings {
  const faults: SettingFault[] = [];
  const integer = (name: string, fallback: number, max: number): number => {
    const value = source[name]?.trim() || String(fallback);
    if (/^\d{1,9}$/.test(value) && Number(value) <= max) return Number(value);
    faults.push({ name, value, expected: `a whole number from 0 to ${max}, for instance ${fallback}` });
    return fallback;
  };
  const settings: SupervisorSettings = {
    restarts: {
      restartsMax: integer('SUPERVISOR_RESTARTS', 10, 1_000),
      windowMs: integer('SUPERVISOR_RESTART_WINDOW_MS', 600_000, 86_400_000),
      backoffMsMin: integer('SUPERVISOR_BACKOFF_MS', 250, 60_000),
      backoffMsMax: 60_000,
      steadyMs: 60_000,
    },
    stop: { laneMsMax: integer('DRAIN_GRACE_MS', 25_000, 600_000) + CLOSE_MS, operatorMsMax: OPERATOR_STOP_MS },
    logLevel: source['LOG_LEVEL']?.trim() || 'info',
  };
  if (faults.length > 0) throw new SettingsError(faults);
  return settings;
}
