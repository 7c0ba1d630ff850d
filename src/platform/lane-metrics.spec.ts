import { Registry } from 'prom-client';
import { LaneMetrics, REJECTION_REASONS } from './lane-metrics';

describe('the metrics of a lane', () => {
  it('count each outcome once, and start every reason at zero', async () => {
    const registry = new Registry();
    const bulkhead = new LaneMetrics(registry).bulkhead('bulkhead_x');
    bulkhead.onRefused('full', false);
    bulkhead.onRefused('full', true);
    bulkhead.onExecutionTimeout();
    bulkhead.onClientAbort();
    bulkhead.rejected('retry_storm');
    const text = await registry.metrics();
    const expected: Record<string, number> = { full: 1, execution_timeout: 1, client_abort: 1, retry_storm: 1 };
    for (const reason of REJECTION_REASONS) {
      expect(text).toContain(
        `bulkhead_rejection_total{bulkhead="bulkhead_x",reason="${reason}"} ${expected[reason] ?? 0}`,
      );
    }
    expect(text).toContain('bulkhead_background_refusal_total{bulkhead="bulkhead_x"} 1');
  });

  it('time waits, executions and refusals in seconds', async () => {
    const registry = new Registry();
    const metrics = new LaneMetrics(registry);
    const bulkhead = metrics.bulkhead('bulkhead_x');
    bulkhead.onAdmitted(0);
    bulkhead.onReleased(30);
    bulkhead.shed(0.2);
    expect(metrics.bulkhead('bulkhead_x')).toBe(bulkhead);
    const text = await registry.metrics();
    expect(text).toContain('bulkhead_queue_wait_seconds_count{bulkhead="bulkhead_x"} 1');
    expect(text).toContain('bulkhead_execution_seconds_sum{bulkhead="bulkhead_x"} 0.03');
    expect(text).toContain('bulkhead_shed_seconds_bucket{le="0.00025",bulkhead="bulkhead_x"} 1');
  });
});
