import { monitorEventLoopDelay } from 'node:perf_hooks';

/**
 * Loaded into a server by `--require`, before anything of it: measures the delay of its event loop and sends what it has
 * measured since the last time on SIGUSR2. Each figure holds the timer's own millisecond.
 */
const RESOLUTION_MS = 1;
const NANOS_PER_MS = 1e6;

/** What is sent. */
export interface LoopDelay {
  readonly type: 'loop_delay';
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();

process.on('SIGUSR2', () => {
  const measured: LoopDelay = {
    type: 'loop_delay',
    p50Ms: delay.percentile(50) / NANOS_PER_MS,
    p99Ms: delay.percentile(99) / NANOS_PER_MS,
    maxMs: delay.max / NANOS_PER_MS,
  };
  delay.reset();
  process.send?.(measured);
});
