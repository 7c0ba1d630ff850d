import { LINE_CHARACTERS_MAX, LineSplitter, logLine } from './log-lines';

const now = new Date('2026-01-01T00:00:00Z');

function linesOf(...chunks: (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const chunk of chunks) splitter.write(Buffer.from(chunk));
  splitter.end();
  return lines;
}

describe('lines of a process', () => {
  test('are put together from pieces, also inside a character', () => {
    const euro = Buffer.from('€');
    expect(linesOf('a', 'b\nc', '\r\n\n', euro.subarray(0, 1), euro.subarray(1), '\nend')).toEqual([
      'ab',
      'c',
      '€',
      'end',
    ]);
  });

  test('one of the greatest length is whole, a longer one is cut, and the next is not harmed', () => {
    const longest = 'x'.repeat(LINE_CHARACTERS_MAX);
    expect(linesOf(`${longest}\n`)).toEqual([longest]);
    expect(linesOf(`${longest}x`, 'more of it', 'y'.repeat(100_000), '\nnext\n')).toEqual([
      `${longest} … (cut)`,
      'next',
    ]);
  });

  test('JSON that tells its role passes as it is; anything else becomes JSON with the role', () => {
    const own = '{"level":"info","role":"tax","message":"ready"}';
    expect(logLine('tax', 'stdout', own, now)).toBe(own);
    for (const line of ['Killed', '{"role":"tax"', '{"level":30}', '["role":1]']) {
      expect(JSON.parse(logLine('tax', 'stderr', line, now))).toEqual({
        level: 'error',
        time: '2026-01-01T00:00:00.000Z',
        role: 'tax',
        stream: 'stderr',
        message: line,
      });
    }
  });

  test('a password in a line that is wrapped is masked', () => {
    expect(logLine('tax', 'stderr', 'no postgres://tax_app:hidden@host/db', now)).not.toContain('hidden');
  });
});
