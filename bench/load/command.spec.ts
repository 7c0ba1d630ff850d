import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from './command';
import { type LoadResult } from './result';
import { approvedBody, startStandIn, type StandIn } from './testing/stand-in-server';

let server: StandIn;
let folder: string;

beforeAll(async () => {
  server = await startStandIn(({ index }) => ({ status: 201, body: approvedBody(`aut_${index}`) }));
  folder = mkdtempSync(join(tmpdir(), 'load-'));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function command(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const code = await runCommand(argv, { out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

const target = (extra = ''): string =>
  `name=authorizations,url=${server.url}/v1/authorizations,rate=100,token=t${extra}`;

describe('the command line', () => {
  it('runs a target, prints a table and writes result and answers', async () => {
    const out = join(folder, 'result.json');
    const answers = join(folder, 'answers.ndjson');
    const limits = ['--lag-limit', '10000', '--duration', '0.3'];
    const { code, out: table } = await command('--target', target(), ...limits, '--out', out, '--answers', answers);
    expect(code).toBe(0);
    expect(table).toMatch(/authorizations +100\.0 +30 +30 +30/);
    expect(table).toContain('run: valid');
    const result = JSON.parse(readFileSync(out, 'utf8')) as LoadResult;
    expect(result).toMatchObject({ durationS: 0.3, void: false, targets: [{ name: 'authorizations', sent: 30 }] });
    const lines = readFileSync(answers, 'utf8').trim().split('\n');
    expect(new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id)).size).toBe(30);
  });

  it('reads a plan file, with steps and a token from a file', async () => {
    const plan = join(folder, 'plan.json');
    const tokenFile = join(folder, 'token');
    writeFileSync(tokenFile, 'secret\n');
    const stages = [
      { durationS: 0.1, rate: 100 },
      { durationS: 0.1, rate: 100, rateEnd: 300 },
    ];
    const url = `${server.url}/v1/tax/quotes`;
    const targets = [{ name: 'quotes', payload: 'tax-quotes', url, tokenFile, stages, connections: 2 }];
    writeFileSync(plan, JSON.stringify({ lagP99MsMax: 10_000, targets }));
    const steps = target(',steps=0.1@100/0.1@100-300').replace(',rate=100', '');
    const { code, out } = await command('--plan', plan, '--target', steps, '--json');
    expect(code).toBe(0);
    const sent = (JSON.parse(out) as LoadResult).targets.map((each) => each.sent);
    expect(sent).toEqual([30, 30]);
  });

  it('exits with 2 where the run is void', async () => {
    const { code, out } = await command('--target', target(), '--duration', '0.2', '--lag-limit', '0.1');
    expect(code).toBe(2);
    expect(out).toContain('run: VOID');
  });

  it.each([
    ['no target', []],
    ['a member that does not exist', ['--target', 'name=authorizations,url=http://127.0.0.1:1/,rate=1,speed=2']],
    ['no rate', ['--target', 'name=authorizations,url=http://127.0.0.1:1/']],
    ['a rate that is no number', ['--target', 'name=authorizations,url=http://127.0.0.1:1/,rate=fast']],
    ['a payload that does not exist', ['--target', 'name=x,url=http://127.0.0.1:1/,rate=1']],
    ['another machine', ['--target', 'name=authorizations,url=http://192.0.2.1/,rate=1']],
    ['a rate beyond the limit', ['--target', 'name=authorizations,url=http://127.0.0.1:1/,rate=50001']],
    ['an unknown option', ['--fast']],
    ['nobody listening', ['--target', 'name=authorizations,url=http://127.0.0.1:1/,rate=1']],
    [
      'a duration that is no number',
      ['--target', 'name=authorizations,url=http://127.0.0.1:1/,rate=1', '--duration', 'x'],
    ],
  ])('exits with 1 and says why: %s', async (_what, argv) => {
    const { code, err } = await command(...argv);
    expect(code).toBe(1);
    expect(err).not.toBe('');
  });
});
