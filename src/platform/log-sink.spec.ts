import { LogSink } from './log-sink';

function failing(code: string): () => number {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}

describe('the sink of log lines', () => {
  afterEach(() => jest.useRealTimers());

  it('writes each line at once, however little of it is taken at a time', () => {
    const taken: string[] = [];
    const sink = new LogSink({
      write: (bytes) => {
        taken.push(bytes.subarray(0, 3).toString());
        return Math.min(3, bytes.length);
      },
    });
    sink.write('a line\n');
    expect(taken.join('')).toBe('a line\n');
  });

  it.each(['EIO', 'EPIPE', 'ENOSPC'])('goes on after %s, and counts what is lost', (code) => {
    const sink = new LogSink({ write: failing(code) });
    sink.write('one\n');
    sink.write('two\n');
    expect(sink.dropped).toBe(2);
  });

  it('keeps lines in order for a reader that is slow, and waits for nobody', () => {
    jest.useFakeTimers();
    let open = false;
    let written = '';
    const sink = new LogSink({
      write: (bytes) => {
        if (!open) return failing('EAGAIN')();
        written += bytes.toString();
        return bytes.length;
      },
    });
    sink.write('one\n');
    sink.write('two\n');
    jest.advanceTimersByTime(100);
    expect(written).toBe('');
    open = true;
    sink.write('three\n');
    expect(written).toBe('');
    jest.advanceTimersByTime(100);
    expect(written).toBe('one\ntwo\nthree\n');
    expect(sink.dropped).toBe(0);
  });

  it('drops what is beyond its bound while nobody reads', () => {
    jest.useFakeTimers();
    const sink = new LogSink({ write: failing('EAGAIN') });
    const line = `${'x'.repeat(1023)}\n`;
    for (let count = 0; count < 1_024 + 7; count += 1) sink.write(line);
    expect(sink.dropped).toBe(7);
  });
});
