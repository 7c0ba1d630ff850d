import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { childrenOf, identityOf, isAlive, signalProcess, waitForExit } from './processes';

describe('processes', () => {
  test('a process is known by number and start time, and is gone when it has ended', async () => {
    const child = spawn('sleep', ['60']);
    const identity = identityOf(child.pid ?? 0);
    if (identity === null) throw new Error('It does not run');
    expect(isAlive(identity)).toBe(true);
    expect(childrenOf(process.pid)).toContainEqual(identity);
    const exit = once(child, 'exit');
    expect(signalProcess(identity, 'SIGKILL')).toBe(true);
    expect(await waitForExit(identity, 5_000)).toBe(true);
    await exit;
    expect(signalProcess(identity, 'SIGKILL')).toBe(false);
  });

  test('a later process with the same number is another one, and gets no signal', () => {
    const namesake = { pid: process.pid, startedAt: '1' };
    expect(isAlive(namesake)).toBe(false);
    expect(signalProcess(namesake, 'SIGKILL')).toBe(false);
  });

  test('what is no process number is no process', () => {
    for (const pid of [0, -1, 1.5, Number.NaN]) expect(identityOf(pid)).toBeNull();
  });

  test('waiting ends at its limit', async () => {
    const self = identityOf(process.pid);
    if (self === null) throw new Error('This process does not find itself');
    expect(await waitForExit(self, 30)).toBe(false);
  });
});
