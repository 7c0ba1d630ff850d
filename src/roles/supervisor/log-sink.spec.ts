import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LogSink } from './log-sink';

const droppedLine = (source: string, lines: number): string => `${source} lost ${lines}`;

describe('the one log stream', () => {
  let folder: string;
  let pipe: number;
  let reader: number;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'log-sink-'));
    const file = join(folder, 'pipe');
    execFileSync('mkfifo', [file]);
    reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    pipe = openSync(file, constants.O_WRONLY);
  });

  afterEach(() => {
    closeSync(pipe);
    rmSync(folder, { recursive: true });
  });

  async function readUntil(isEnough: (text: string) => boolean): Promise<string> {
    const buffer = Buffer.alloc(256 * 1024);
    let text = '';
    while (!isEnough(text)) {
      try {
        text += buffer.toString('utf8', 0, readSync(reader, buffer));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        await sleep(1);
      }
    }
    return text;
  }

  test('what is written comes whole and in order, and is waited for', async () => {
    const sink = new LogSink(pipe, { droppedLine });
    sink.write('a', '1');
    sink.write('b', '2');
    sink.write('a', '3');
    expect(await sink.flush(5_000)).toBe(true);
    const lines = (await readUntil((text) => text.split('\n').length > 3)).trim().split('\n');
    expect(lines.filter((line) => line !== '2')).toEqual(['1', '3']);
    expect(lines).toContain('2');
    closeSync(reader);
  });

  test('nobody reads: the writer goes on, memory is bounded, the flood loses its own lines and says how many', async () => {
    const sink = new LogSink(pipe, { droppedLine });
    const line = 'x'.repeat(1_023);
    for (let count = 0; count < 5_000; count += 1) sink.write('flood', line);
    sink.write('quiet', 'heard');
    expect(await sink.flush(50)).toBe(false);

    const text = await readUntil((read) => read.includes('heard') && /flood lost \d+\n/.test(read));
    // In turns: the quiet one did not wait for a megabyte of the other.
    expect(text.indexOf('heard')).toBeLessThan(300 * 1_024);
    const lost = Number(/flood lost (\d+)/.exec(text)?.[1]);
    expect(lost).toBeGreaterThan(3_800);
    expect(lost).toBeLessThan(4_000);
    const rest = readUntil((read) => (text + read).split('\n').filter((each) => each === line).length === 5_000 - lost);
    expect(await sink.flush(5_000)).toBe(true);
    await rest;
    closeSync(reader);
  });

  test('a reader that has gone stops nobody', async () => {
    closeSync(reader);
    const sink = new LogSink(pipe, { droppedLine });
    sink.write('a', 'for nobody');
    expect(await sink.flush(5_000)).toBe(true);
    sink.write('a', 'for nobody either');
    expect(await sink.flush(5_000)).toBe(true);
  });
});
