import { AnswerParser, MalformedAnswerError, type ParsedAnswer } from './answer-parser';

function parse(text: string, cut = text.length): ParsedAnswer | null {
  const parser = new AnswerParser(() => true);
  // One buffer for all reads, as the connections have it: what the parser kept without copying would be overwritten.
  const shared = Buffer.alloc(text.length);
  let complete = false;
  for (let start = 0; start < text.length && !complete; start += cut) {
    const bytes = shared.write(text.slice(start, start + cut), 'latin1');
    complete = parser.push(shared.subarray(0, bytes));
  }
  return complete || parser.end() ? parser.take() : null;
}

const chunked =
  'HTTP/1.1 207 Multi-Status\r\nTransfer-Encoding: chunked\r\nKeep-Alive: timeout=5\r\n\r\n' +
  '5;name=value\r\nhello\r\nA\r\n, world!!!\r\n0\r\nX-Trailer: 1\r\n\r\n';

describe('AnswerParser', () => {
  it.each([...Array(20).keys(), 200])(
    'reads a chunked answer with extensions and trailers in pieces of %i + 1 bytes',
    (cut) => {
      expect(parse(chunked, cut + 1)).toEqual({
        status: 207,
        retryAfterS: null,
        body: 'hello, world!!!',
        reusable: true,
        keepAliveS: 5,
      });
    },
  );

  it.each([1, 7, 300])('reads an answer of declared length in pieces of %i bytes', (cut) => {
    const text = 'HTTP/1.1 429 Too Many\r\nretry-after: 5\r\ncontent-length: 4\r\nX-Other-Name: a:b\r\n\r\nbody';
    expect(parse(text, cut)).toMatchObject({ status: 429, retryAfterS: 5, body: 'body', reusable: true });
  });

  it('skips informational answers', () => {
    const text =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n';
    expect(parse(text)).toMatchObject({ status: 204, body: '' });
  });

  it.each(['close', 'Close, TE', 'keep-alive, close'])(
    'does not use a connection again after "Connection: %s"',
    (value) => {
      expect(parse(`HTTP/1.1 201 Created\r\nConnection: ${value}\r\nContent-Length: 0\r\n\r\n`)?.reusable).toBe(false);
    },
  );

  it('does not use an HTTP/1.0 connection again', () => {
    expect(parse('HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n')?.reusable).toBe(false);
  });

  it('reads an answer without a length until the connection closes, and not in HTTP that declares one', () => {
    expect(parse('HTTP/1.1 200 OK\r\n\r\nall of it')).toMatchObject({ body: 'all of it', reusable: false });
    expect(parse('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort')).toBeNull();
    expect(parse('HTTP/1.1 200 OK\r\nTransfer-Enc')).toBeNull();
  });

  it('lets the chunks decide where a length is declared too', () => {
    const text = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n';
    expect(parse(text)?.body).toBe('ok');
  });

  it('is ready for the next answer', () => {
    const parser = new AnswerParser(() => true);
    for (const body of ['one', 'three']) {
      expect(parser.push(Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`))).toBe(true);
      expect(parser.take().body).toBe(body);
    }
  });

  it('keeps no body that nobody wants', () => {
    const parser = new AnswerParser((status) => status >= 300);
    parser.push(Buffer.from('HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok'));
    expect(parser.take().body).toBeNull();
  });

  it.each([
    ['no HTTP', 'SSH-2.0-x\r\n\r\n'],
    ['a length that is none', 'HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n'],
    ['two different lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
    ['an unknown transfer encoding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n'],
    ['a chunk size that is none', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n'],
    ['a chunk longer than its size', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n'],
    ['bytes after the end', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab'],
    ['a header without a colon', 'HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 1\r\n\r\na'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`],
  ])('refuses %s', (_what, text) => {
    expect(() => parse(text)).toThrow(MalformedAnswerError);
  });
});
