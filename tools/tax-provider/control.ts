import type { Json } from './json';
import { WrittenNumber } from './json';

/**
 * `ok` answers. `hang` takes calls and never answers them. `reset` answers with a TCP reset. `garbage` answers 200 with
 * something that is no tax. `slow_body` answers rightly, a byte at a time, too slowly for anyone to wait.
 */
export const MODES = ['ok', 'hang', 'reset', 'garbage', 'slow_body'] as const;
export type Mode = (typeof MODES)[number];

/** The faults that a drill sets (contract 15). */
export interface Settings {
  readonly latency_ms: number;
  /** Added to the latency: uniform from 0. */
  readonly jitter_ms: number;
  /** The share of calls that are answered 500, from 0 to 1. */
  readonly error_rate: number;
  readonly mode: Mode;
}

export const noFaults: Settings = { latency_ms: 0, jitter_ms: 0, error_rate: 0, mode: 'ok' };

const LATENCY_MS_MAX = 600_000;

/** The settings with the members of `change` in place of their own; a sentence where one of them is wrong. */
export function changed(settings: Settings, change: Json | undefined): Settings | string {
  if (typeof change !== 'object' || change === null || Array.isArray(change) || change instanceof WrittenNumber) {
    return 'the body must be a JSON object';
  }
  const next: Record<string, unknown> = { ...settings };
  for (const [name, value] of Object.entries(change)) {
    if (!(name in noFaults)) return `${name} is not known; there are ${Object.keys(noFaults).join(', ')}`;
    const plain = value instanceof WrittenNumber ? Number(value.text) : value;
    const fault = faultOf(name as keyof Settings, plain);
    if (fault !== null) return `${name} must be ${fault}`;
    next[name] = plain;
  }
  return next as unknown as Settings;
}

function faultOf(name: keyof Settings, value: unknown): string | null {
  switch (name) {
    case 'mode':
      return MODES.includes(value as Mode) ? null : `one of ${MODES.join(', ')}`;
    case 'error_rate':
      return within(value, 1) ? null : 'a number from 0 to 1';
    case 'latency_ms':
    case 'jitter_ms':
      return within(value, LATENCY_MS_MAX) ? null : `a number from 0 to ${LATENCY_MS_MAX}`;
    default:
      throw new Error(`Unknown setting ${String(name satisfies never)}`);
  }
}

function within(value: unknown, most: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= most;
}
