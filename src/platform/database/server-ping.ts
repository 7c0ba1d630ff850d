import { connect, type Socket } from 'node:net';

/** Length 8, then 1234·2^16 + 5679: "do you speak TLS?", which a server answers before it asks who is there. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]);
const ANSWER_TLS = 0x53;
const ANSWER_PLAIN = 0x4e;

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * Whether a PostgreSQL server answers at all. Nobody logs in, so it works, and costs no slot, while all of the
 * role's connections are taken. Resolves with null, or with what went wrong.
 */
export function pingServer(address: ServerAddress, limitMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket: Socket = address.host.startsWith('/')
      ? connect(`${address.host}/.s.PGSQL.${address.port}`)
      : connect(address.port, address.host);
    const finish = (fault: string | null): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(fault);
    };
    const timer = setTimeout(() => finish(`no answer within ${limitMs} ms`), limitMs);
    timer.unref();
    socket.unref();
    socket.once('connect', () => socket.write(SSL_REQUEST));
    socket.once('data', (answer) => {
      const known = answer[0] === ANSWER_TLS || answer[0] === ANSWER_PLAIN;
      finish(known ? null : 'what answers there is not PostgreSQL');
    });
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
    socket.once('end', () => finish('the server closed the connection'));
  });
}
