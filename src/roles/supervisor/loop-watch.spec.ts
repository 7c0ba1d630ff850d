import { LoopWatch } from './loop-watch';

class Bench {
  nowMs = 0;
  cpuMs: number | null = 0;
  readonly told: string[] = [];
  readonly watch = new LoopWatch({
    nowMs: () => this.nowMs,
    cpuMs: () => this.cpuMs,
    ask: () => this.told.push('ask'),
    onStuck: () => this.told.push('stuck'),
    onTurning: () => this.told.push('turning'),
  });

  /** @param share of the time that the process computes. */
  pass(ms: number, share: number): this {
    this.nowMs += ms;
    this.cpuMs = (this.cpuMs ?? 0) + ms * share;
    this.watch.check();
    return this;
  }
}

describe('the watch over an event loop', () => {
  test('one question at a time, the next after the answer', () => {
    const bench = new Bench();
    bench.pass(50, 0).pass(50, 0).pass(50, 0);
    expect(bench.told).toEqual(['ask']);
    bench.watch.answered();
    bench.pass(50, 0);
    expect(bench.told).toEqual(['ask', 'ask']);
  });

  test('silent and computing for 100 ms is stuck, for 99 ms it is not', () => {
    const bench = new Bench();
    bench.pass(0, 0).pass(99, 1);
    expect(bench.told).toEqual(['ask']);
    bench.pass(1, 1);
    expect(bench.told).toEqual(['ask', 'stuck']);
  });

  test('silent without computing waits for a core or is stopped: not stuck, until it computes half of the time', () => {
    const bench = new Bench();
    bench.pass(0, 0).pass(1_000, 0.49);
    expect(bench.told).toEqual(['ask']);
    bench.pass(1_000, 0.51);
    expect(bench.told).toEqual(['ask', 'stuck']);
  });

  test('stuck is told once, and the late answer says that it turns again', () => {
    const bench = new Bench();
    bench.pass(0, 0).pass(200, 1).pass(200, 1).pass(5_000, 1);
    expect(bench.told).toEqual(['ask', 'stuck']);
    bench.watch.answered();
    expect(bench.told).toEqual(['ask', 'stuck', 'turning']);
    bench.pass(50, 1).pass(100, 1);
    expect(bench.told).toEqual(['ask', 'stuck', 'turning', 'ask', 'stuck']);
  });

  test('several threads at once count as computing all the more', () => {
    const bench = new Bench();
    bench.pass(0, 0).pass(100, 2);
    expect(bench.told).toEqual(['ask', 'stuck']);
  });

  test('of a process that is gone nothing is asked or said', () => {
    const bench = new Bench();
    bench.pass(0, 0);
    bench.cpuMs = null;
    bench.watch.check();
    bench.nowMs += 1_000;
    bench.watch.check();
    expect(bench.told).toEqual(['ask']);
  });
});
