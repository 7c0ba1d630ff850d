import { type AnsweredRequest, RequestLog } from './request-log';

describe('the access log', () => {
  const ok: AnsweredRequest = {
    method: 'POST',
    route: '/v1/quotes',
    lane: 'tax',
    status: 200,
    aborted: false,
    durationMs: 3.14159,
    requestId: 'req-1',
    code: null,
  };

  function open(debugs = false) {
    const lines: { level: string; fields: Record<string, unknown> }[] = [];
    const at =
      (level: string) =>
      (fields: object): void =>
        void lines.push({ level, fields: fields as Record<string, unknown> });
    let nowMs = 0;
    const log = {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      isLevelEnabled: () => debugs,
    };
    const requests = new RequestLog(log, { now: () => nowMs });
    return { requests, lines, pass: (ms: number) => (nowMs += ms) };
  }

  it('writes successes at debug only', () => {
    const { requests, lines } = open();
    requests.record(ok);
    expect(lines).toEqual([]);
    const debugging = open(true);
    debugging.requests.record(ok);
    expect(debugging.lines).toMatchObject([{ level: 'debug', fields: { status: 200, duration_ms: 3.1 } }]);
  });

  it('writes every fault, and slow answers', () => {
    const { requests, lines } = open();
    requests.record({ ...ok, status: 500, code: 'ERR_INTERNAL' });
    requests.record({ ...ok, status: 500, code: 'ERR_INTERNAL' });
    requests.record({ ...ok, durationMs: 1_000 });
    expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn', 'warn']);
  });

  it('samples refusals by kind, once a second, and says how many it left out', () => {
    const { requests, lines, pass } = open();
    const refusal = { ...ok, status: 429, code: 'ERR_RETRY_STORM_BLOCKED' };
    for (let turn = 0; turn < 100; turn += 1) requests.record(refusal);
    requests.record({ ...ok, status: 503, code: 'ERR_TAX' });
    expect(lines.map(({ level }) => level)).toEqual(['info', 'warn']);
    pass(1_000);
    requests.record(refusal);
    expect(lines.at(-1)?.fields).toMatchObject({ status: 429, like_it_since_last: 99 });
  });
});
