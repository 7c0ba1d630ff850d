import type { IncomingMessage, ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { PaymentError, type ProblemKind } from '../shared/problem';
import { connectionOf } from './connections';
import { pathOf } from './exchange';
import { edgeProblems } from './problems';
import { renderProblem, type ProblemPlace } from './render-problem';
import { REQUEST_ID_HEADER, requestIdOf } from './request-id';

/** What Node's parser and its connection timer can complain of, before there is a request. */
function problemOfClientError(code: string | undefined): PaymentError {
  const problem = (kind: ProblemKind, detail: string): PaymentError => new PaymentError(kind, detail);
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem(edgeProblems.requestTimeout, 'The headers did not arrive in time.');
    case 'HPE_HEADER_OVERFLOW':
      return problem(edgeProblems.headersTooLarge, 'The headers are larger than this server reads.');
    case undefined:
    default:
      return problem(edgeProblems.malformedRequest, 'This is not HTTP/1.1 as RFC 9112 has it.');
  }
}

function rawAnswer(error: PaymentError, place: ProblemPlace): Buffer {
  const { status, headers, body } = renderProblem(error, place);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${body.length}`,
    `${REQUEST_ID_HEADER}: ${place.requestId}`,
    'connection: close',
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`), body]);
}

/** A connection on which something else than HTTP arrived, or nothing in time. */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  const connection = connectionOf(socket);
  if (connection === undefined || error.code === 'ECONNRESET') socket.destroy();
  // Whatever comes after the first fault is not read any more, but is still told of here.
  else if (!connection.failed) connection.fail(farewell(problemOfClientError(error.code)));
}

/** CONNECT names no path, so that there is nothing to look up; Node would close the connection without a word. */
export function answerConnect(_request: IncomingMessage, socket: Socket): void {
  // Node has let go of the socket, and of its errors.
  socket.on('error', () => {});
  const problem = new PaymentError(edgeProblems.malformedRequest, 'This server is no proxy: it has no `CONNECT`.');
  connectionOf(socket)?.fail(farewell(problem));
}

function farewell(problem: PaymentError): Buffer {
  return rawAnswer(problem, { instance: null, lane: null, requestId: requestIdOf({ headers: {} }) });
}

/** `Expect` with anything but `100-continue`: Node would answer 417 without a body. */
export function answerExpectation(request: IncomingMessage, response: ServerResponse): void {
  const requestId = requestIdOf(request);
  const { status, headers, body } = renderProblem(
    new PaymentError(edgeProblems.expectationFailed, 'Of `Expect` only `100-continue` is met.'),
    { instance: pathOf(request.url ?? ''), lane: null, requestId },
  );
  response.writeHead(status, {
    ...headers,
    'content-length': body.length,
    [REQUEST_ID_HEADER]: requestId,
    connection: 'close',
  });
  response.end(body);
}
