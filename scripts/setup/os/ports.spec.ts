import { createServer, type Server } from 'node:net';
import { freePort, listenerOf, portState } from './ports';

describe('ports', () => {
  let server: Server;
  let port: number;

  beforeEach(async () => {
    port = await freePort();
    server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  });
  afterEach(() => new Promise((resolve) => server.close(resolve)));

  test('a port on which somebody listens is taken, and it is known by whom', async () => {
    expect(await portState('127.0.0.1', port)).toBe('taken');
    expect(listenerOf(port)?.pid).toBe(process.pid);
  });

  test('it is free again afterwards', async () => {
    await new Promise((resolve) => server.close(resolve));
    expect(await portState('127.0.0.1', port)).toBe('free');
    expect(listenerOf(port)).toBeNull();
  });

  test('an address of another machine is told from a taken port', async () => {
    expect(await portState('192.0.2.1', port)).toBe('no-such-address');
  });
});
