import { type HangupTraces, isHangupIgnored } from './hangup';

const NONE: HangupTraces = {
  onTerminal: false,
  inputClosedByNohup: false,
  outputNamedByNohup: false,
  commands: [],
  ignoredMasks: [],
};

describe('whether a hangup is to be survived', () => {
  test('not without a trace of it', () => {
    const npm = { commands: ['/usr/bin/npm', null], ignoredMasks: ['0000000001001000', '0000000000000000'] };
    expect(isHangupIgnored({ ...NONE, ...npm })).toBe(false);
  });

  test.each<[string, Partial<HangupTraces>]>([
    ['what a shell noted', { commands: ['/usr/bin/node', '/usr/bin/nohup'] }],
    ['standard input as nohup leaves it', { inputClosedByNohup: true }],
    ['an output that nohup has named', { outputNamedByNohup: true }],
    ['a shell above that ignores it', { ignoredMasks: ['0000000000001000', '0000000000000001'] }],
  ])('%s tells so', (_what, traces) => {
    expect(isHangupIgnored({ ...NONE, ...traces })).toBe(true);
  });

  test('at a terminal it counts whatever is noted above', () => {
    expect(isHangupIgnored({ ...NONE, onTerminal: true, commands: ['/usr/bin/nohup'] })).toBe(false);
  });
});
