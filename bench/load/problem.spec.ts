import { mayRetry, readProblem } from './problem';

describe('readProblem', () => {
  it('reads the code and the jitter', () => {
    const body = JSON.stringify({ code: 'ERR_CARD_BUSY', retry: { after_seconds: 5, jitter_seconds: 2.5 } });
    expect(readProblem(body)).toEqual({ code: 'ERR_CARD_BUSY', jitterS: 2.5 });
  });

  it.each([null, '', '<html>', '{', '[]', '{"code":1}', '{"code":"<b>","retry":3}', '{"retry":{"jitter_seconds":-1}}'])(
    'survives %j',
    (body) => {
      expect(readProblem(body)).toEqual({ code: 'NO_PROBLEM', jitterS: 0 });
    },
  );
});

describe('mayRetry', () => {
  it.each([408, 425, 429, 503])('allows it for %i', (status) => expect(mayRetry(status, 'ANY')).toBe(true));
  it.each([400, 401, 403, 404, 413, 422, 500, 504])('does not for %i', (status) => {
    expect(mayRetry(status, 'ANY')).toBe(false);
  });
  it('allows 409 only while the same key is in flight', () => {
    expect(mayRetry(409, 'ERR_IDEMPOTENCY_IN_FLIGHT')).toBe(true);
    expect(mayRetry(409, 'ERR_INVALID_STATE')).toBe(false);
  });
});
