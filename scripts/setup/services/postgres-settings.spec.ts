import { postgresSettings } from './postgres-settings';

const GIB = 1024 ** 3;
const setting = (text: string, name: string): string | undefined =>
  new RegExp(`^${name} = '(.*)'$`, 'm').exec(text)?.[1];

describe('the settings of the embedded PostgreSQL', () => {
  test('a cluster that holds data gives up no durability', () => {
    const text = postgresSettings({ port: 15_432, connectionsMax: 100, durable: true, memoryBytes: 8 * GIB });
    for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) expect(setting(text, name)).toBe('on');
  });

  test('it listens on this machine only and on no socket', () => {
    const text = postgresSettings({ port: 15_432, connectionsMax: 100, durable: true });
    expect(setting(text, 'listen_addresses')).toBe('127.0.0.1');
    expect(setting(text, 'unix_socket_directories')).toBe('');
    expect(setting(text, 'port')).toBe('15432');
  });

  test.each([
    [16 * GIB - 1, '4GB'],
    [16 * GIB, '16GB'],
  ])('with %i bytes of memory the WAL may have %s before a checkpoint', (memoryBytes, expected) => {
    const text = postgresSettings({ port: 15_432, connectionsMax: 100, durable: true, memoryBytes });
    expect(setting(text, 'max_wal_size')).toBe(expected);
  });

  test.each([
    [4 * GIB - 1, '128MB'],
    [4 * GIB, '512MB'],
  ])('with %i bytes of memory it buffers %s', (memoryBytes, expected) => {
    const text = postgresSettings({ port: 1, connectionsMax: 1, durable: true, memoryBytes });
    expect(setting(text, 'shared_buffers')).toBe(expected);
  });
});
