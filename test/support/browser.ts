import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { atEndOfFile } from './closers';

const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const COMMAND_MS_MAX = 30_000;

/** Chromium as the system has it; null where it has none. */
export function installedChromium(): string | null {
  return EXECUTABLES.find((path) => existsSync(path)) ?? null;
}

/** What a page did while it was loaded. */
export interface LoadedPage {
  /** URLs of all that it asked for, beside itself. */
  readonly requests: readonly string[];
  /** Errors and warnings of the console, uncaught exceptions, what the security policy refused. */
  readonly complaints: readonly string[];
  /** The value of an expression in the page. */
  evaluate<T>(expression: string): Promise<T>;
}

interface Message {
  readonly id?: number;
  readonly sessionId?: string;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

type Listener = (method: string, params: Record<string, unknown>, sessionId: string | undefined) => void;

/** A Chromium without a window, spoken to by its DevTools protocol over a pipe; it ends with the test file. */
export class Browser {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  readonly #listeners = new Set<Listener>();
  #lastId = 0;
  #received = '';

  private constructor(executable: string, folder: string) {
    const usual = [
      '--headless',
      '--no-first-run',
      '--disable-gpu',
      '--disable-extensions',
      '--disable-dev-shm-usage',
      '--window-size=1200,900',
    ];
    // Root has no sandbox; what these tests load is our own.
    const options = [...usual, '--no-sandbox', '--remote-debugging-pipe', `--user-data-dir=${folder}`, 'about:blank'];
    this.#child = spawn(executable, options, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.#child.once('exit', () => this.#fail(new Error('Chromium ended')));
    this.#child.once('error', (error) => this.#fail(error));
    (this.#child.stdio[3] as Writable).on('error', () => undefined);
    (this.#child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  static start(executable: string): Browser {
    const folder = mkdtempSync(join(tmpdir(), 'payment-core-browser-'));
    const browser = new Browser(executable, folder);
    atEndOfFile(async () => {
      const ended = once(browser.#child, 'exit');
      if (browser.#child.exitCode === null && browser.#child.kill('SIGKILL')) await ended;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    });
    return browser;
  }

  /** Loads a page as a reader with a light screen sees it, and resolves when it has run its scripts. */
  async load(url: string): Promise<LoadedPage> {
    const requests: string[] = [];
    const complaints: string[] = [];
    const loaded = Promise.withResolvers<void>();
    const { targetId } = await this.#ask('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.#ask('Target.attachToTarget', { targetId, flatten: true });
    this.#listeners.add((method, params, from) => {
      if (from !== sessionId) return;
      if (method === 'Network.requestWillBeSent') {
        const asked = (params['request'] as { url: string }).url;
        if (asked !== url) requests.push(asked);
      }
      if (method === 'Page.loadEventFired') loaded.resolve();
      const complaint = complaintIn(method, params);
      if (complaint !== null) complaints.push(complaint);
    });
    const ask = (method: string, params: object = {}): Promise<Record<string, unknown>> =>
      this.#ask(method, params, sessionId as string);
    for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await ask(`${domain}.enable`);
    await ask('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: 'light' }] });
    await ask('Page.navigate', { url });
    await loaded.promise;
    return {
      requests,
      complaints,
      evaluate: async <T>(expression: string): Promise<T> => {
        const answer = await ask('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
        const { result, exceptionDetails } = answer as { result: { value: T }; exceptionDetails?: object };
        if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
        return result.value;
      },
    };
  }

  #ask(method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> {
    const id = (this.#lastId += 1);
    const waiting = Promise.withResolvers<Record<string, unknown>>();
    this.#waiting.set(id, waiting);
    const timer = setTimeout(() => waiting.reject(new Error(`Chromium did not answer ${method}`)), COMMAND_MS_MAX);
    (this.#child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return waiting.promise.finally(() => clearTimeout(timer));
  }

  #take(text: string): void {
    const messages = (this.#received + text).split('\0');
    this.#received = messages.pop() ?? '';
    for (const message of messages) this.#hear(JSON.parse(message) as Message);
  }

  #hear({ id, sessionId, method, params = {}, result = {}, error }: Message): void {
    if (method !== undefined) for (const listener of this.#listeners) listener(method, params, sessionId);
    if (id === undefined) return;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error !== undefined) waiting?.reject(new Error(error.message));
    else waiting?.resolve(result);
  }

  #fail(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}

function complaintIn(method: string, params: Record<string, unknown>): string | null {
  switch (method) {
    case 'Runtime.consoleAPICalled':
      return ['error', 'warning', 'assert'].includes(params['type'] as string) ? JSON.stringify(params['args']) : null;
    case 'Runtime.exceptionThrown':
      return JSON.stringify(params['exceptionDetails']);
    case 'Log.entryAdded': {
      const entry = params['entry'] as { level: string; text: string };
      return entry.level === 'error' || entry.level === 'warning' ? entry.text : null;
    }
    default:
      return null;
  }
}
