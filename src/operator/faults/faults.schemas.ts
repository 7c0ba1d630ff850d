import { z } from 'zod';

const DURATION_MS_MAX = 600_000;

/** `PUT /faults/:lane`; what is left out returns to its default. */
export const faultsBody = z.strictObject({
  latency_ms: z.int().min(0).max(DURATION_MS_MAX).default(0),
  hang: z.boolean().default(false),
  database: z.enum(['ok', 'stalled']).default('ok'),
  block_event_loop_ms: z.int().min(0).max(DURATION_MS_MAX).default(0),
  fill_heap: z.boolean().default(false),
  exhaust_descriptors: z.boolean().default(false),
});
export type FaultsBody = z.infer<typeof faultsBody>;
