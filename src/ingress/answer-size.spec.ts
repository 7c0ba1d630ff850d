import { type EdgeServer, startEdgeServer } from './testing/edge-server';

const good = { authorization: 'Bearer shop', 'idempotency-key': 'k', 'content-type': 'application/json' };

interface Problem {
  code: string;
  errors: { pointer: string; detail: string }[];
}

describe('how much is told of a request with many faults', () => {
  let server: EdgeServer;
  beforeAll(async () => {
    server = await startEdgeServer();
  });
  afterAll(() => server.close());

  it('no answer is larger than a few times its request', async () => {
    const send = async (payload: string): Promise<string> => {
      const answer = await server.app.inject({ method: 'POST', url: '/v1/orders', headers: good, payload });
      expect([answer.statusCode, answer.json<Problem>().code]).toEqual([400, 'ERR_VALIDATION']);
      return answer.body;
    };
    const name = 'n'.repeat(1_000);
    const nested = `${`{"${name}":`.repeat(31)}{${Array.from({ length: 900 }, (_, at) => `"x${at}":1.5`).join()}}`;
    const bodies = [
      nested + '}'.repeat(31),
      `${`{"${name}":`.repeat(50)}1${'}'.repeat(50)}`,
      `{"${'n'.repeat(60_000)}":1}`,
      `{${Array.from({ length: 200 }, (_, at) => `"${'😀'.repeat(60)}${at}${name.slice(0, 30)}":1`).join()}}`,
    ];
    for (const body of bodies) expect((await send(body)).length).toBeLessThan(45_000);
    const [first] = (JSON.parse(await send(bodies[2] ?? '')) as Problem).errors.filter(
      ({ pointer }) => pointer.length > 20,
    );
    expect(first?.pointer).toBe(`/${'n'.repeat(254)}…`);
    const halved = (JSON.parse(await send(`{"${'😀'.repeat(200)}":1}`)) as Problem).errors.at(-1);
    expect(halved?.pointer).toBe(`/${'😀'.repeat(127)}…`);
  });

  it.each([32, 33])('nesting %i deep: 32 is read, 33 is not', async (depth) => {
    const lists = depth - 1;
    const payload = `{"merchant_id":"m","amount_minor":1,"note":${'['.repeat(lists)}${']'.repeat(lists)}}`;
    const answer = await server.app.inject({ method: 'POST', url: '/v1/orders', headers: good, payload });
    const problem = answer.json<Problem>();
    expect(problem.code).toBe('ERR_VALIDATION');
    expect(problem.errors.some(({ detail }) => detail === 'Nested deeper than 32')).toBe(depth === 33);
  });

  it('thousands of unknown members are not mirrored whole', async () => {
    const members = Array.from({ length: 5_000 }, (_, index) => `"a${index}":1`).join(',');
    const answer = await server.app.inject({
      method: 'POST',
      url: '/v1/orders',
      headers: good,
      payload: `{${members}}`,
    });
    const problem = answer.json<Problem & { errors_omitted: number }>();
    expect(problem.errors).toHaveLength(100);
    expect(problem.errors_omitted).toBe(5_002 - 100);
  });
});
