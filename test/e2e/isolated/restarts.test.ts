import { isAlive } from '../../../scripts/setup/os/processes';
import { eventually } from '../../support/http';
import { Topology } from './topology';

const OTHERS = ['authorization', 'fraud', 'ledger', 'operator'] as const;

describe('a process that dies whenever it is started', () => {
  let topology: Topology;
  const startsOfTax = (): number =>
    topology.supervisor.records.filter(({ message, process }) => message === 'process started' && process === 'tax')
      .length;

  beforeAll(async () => {
    topology = await Topology.start((database) => {
      const url = new URL(database.laneUrl('tax'));
      url.password = 'no-such-password';
      return { DATABASE_URL_TAX: url.toString(), SUPERVISOR_RESTARTS: '2', SUPERVISOR_BACKOFF_MS: '100' };
    });
    await topology.waitForReady(OTHERS);
  }, 120_000);

  test('is started again as often as stated, then stays down, and the others serve', async () => {
    await eventually('it stays down', async () => (await topology.processes()).tax.state === 'down', 30_000);
    expect((await topology.processes()).tax).toMatchObject({ restarts: 2, pid: null, last_exit: { code: 1 } });
    expect(startsOfTax()).toBe(3);
    expect(topology.supervisor.records).toContainEqual(
      expect.objectContaining({ level: 'error', alert: 'ALERT_PROCESS_DOWN', process: 'tax' }),
    );
    expect(await topology.laneShown('tax')).toEqual({ status: 'unreachable' });
    expect((await topology.authorize()).status).toBe(201);
    await topology.waitForReady(OTHERS);
  });

  test('why it died stands in the log, as JSON with its role and without its password', () => {
    const said = topology.supervisor.records.filter(({ role, stream }) => role === 'tax' && stream === 'stderr');
    expect(said.length).toBeGreaterThan(0);
    expect(topology.supervisor.lines.join('\n')).not.toContain('no-such-password');
  });

  test('is tried again on SIGUSR2', async () => {
    topology.supervisor.signal('SIGUSR2');
    await eventually('it is started', async () => startsOfTax() > 3);
  });

  test('the end of the supervisor by SIGKILL is the end of all', async () => {
    const children = await topology.children();
    expect(children.length).toBeGreaterThanOrEqual(4);
    await topology.supervisor.kill('SIGKILL');
    await eventually('no process is left', async () => !children.some(isAlive), 15_000);
  });
});
