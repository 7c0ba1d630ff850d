import { toProblem, type Problem } from './problem';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface HttpAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON; null where the body is none. */
  body: unknown;
  /** Null for a success. */
  problem: Problem | null;
}

/** No complete answer came: what the server did is not known. */
export interface NoAnswer {
  status: null;
  cause: unknown;
}

const BODY_BYTES_MAX = 16 * 1024 * 1024;

/** One request, one answer, within the limit and while the caller wants it. Never throws. */
export async function exchange(
  fetch: Fetch,
  url: string,
  init: RequestInit,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<HttpAnswer | NoAnswer> {
  const abort = new AbortController();
  const onAbort = (): void => abort.abort(signal?.reason);
  const timer = setTimeout(() => abort.abort(new Error(`no answer within ${Math.round(limitMs)} ms`)), limitMs);
  // A listener by hand: AbortSignal.any() would tie every request to a signal that may live as long as the process.
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: abort.signal });
    const body = parseJson(await readText(response));
    const { status, headers } = response;
    return { status, headers, body, problem: status >= 200 && status < 300 ? null : toProblem(status, body) };
  } catch (cause) {
    return { status: null, cause };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Uint8Array>) {
    bytes += part.length;
    if (bytes > BODY_BYTES_MAX) throw new Error(`an answer of more than ${BODY_BYTES_MAX} bytes`);
    text += decoder.decode(part, { stream: true });
  }
  return text + decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
