import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

/**
 * A provider that takes each call and cuts its connection, by a reset or an orderly end, as it is told. It notes when:
 * the clock is the system's own monotonic one, which both processes read.
 */
const [, , how = 'reset'] = process.argv;
/** The call must be read before it is cut, or the cut is a refusal to connect. */
const READ_MS = 5;

const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    setTimeout(() => {
      const cutAtNs = process.hrtime.bigint();
      if (how === 'reset') socket.resetAndDestroy();
      else socket.end();
      process.send?.({ cutAtNs: cutAtNs.toString() });
    }, READ_MS);
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
