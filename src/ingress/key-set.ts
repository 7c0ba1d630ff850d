import { readFile, stat } from 'node:fs/promises';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock, TimerHandle } from '../shared/clock';

export type KeySetSource = { readonly file: string } | { readonly url: string };

export interface KeySetLimits {
  /** A key that is withdrawn is honoured this long at most. */
  readonly refreshMs: number;
  /** Between two refreshes that unknown keys ask for: made-up key ids must not become a load on the issuer. */
  readonly cooldownMs: number;
  readonly fetchMsMax: number;
  readonly bytesMax: number;
}

const KIB = 1024;
/** A file is cheap to look at, so that a rotated key is known within seconds. */
const FILE_LIMITS: KeySetLimits = { refreshMs: 5_000, cooldownMs: 500, fetchMsMax: 3_000, bytesMax: 256 * KIB };
const URL_LIMITS: KeySetLimits = { refreshMs: 300_000, cooldownMs: 5_000, fetchMsMax: 3_000, bytesMax: 256 * KIB };

/**
 * The issuer's public keys, from a file or a URL, kept fresh. Whatever goes wrong with the source, the last keys
 * stay (contract 8); without any key so far every token is refused, and the source is tried again.
 */
export class KeySet {
  readonly #source: KeySetSource;
  readonly #clock: Clock;
  readonly #limits: KeySetLimits;
  readonly #onChanged: () => void;
  readonly #onFailure: (error: Error) => void;
  #text: string | null = null;
  #getKey: JWTVerifyGetKey | null = null;
  #refreshing: Promise<boolean> | null = null;
  #refreshedAtMs = -Infinity;
  #timer: TimerHandle | null = null;
  #closed = false;

  constructor(
    source: KeySetSource,
    clock: Clock,
    events: {
      /** Other keys than before: tokens verified earlier are to be verified again. */
      readonly onChanged?: () => void;
      readonly onFailure?: (error: Error) => void;
    } = {},
    limits: Partial<KeySetLimits> = {},
  ) {
    this.#source = source;
    this.#clock = clock;
    this.#limits = { ...('file' in source ? FILE_LIMITS : URL_LIMITS), ...limits };
    this.#onChanged = events.onChanged ?? (() => {});
    this.#onFailure = events.onFailure ?? (() => {});
  }

  /** The keys as `jose` asks for them; null where none could be read yet. */
  get getKey(): JWTVerifyGetKey | null {
    return this.#getKey;
  }

  /** First look at the source, and then from time to time. Does not fail where the source does. */
  async start(): Promise<void> {
    await this.refresh();
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    this.#timer = null;
  }

  /** Looks at the source again because a token names a key that is not here; false where nothing has changed. */
  refreshForUnknownKey(): Promise<boolean> {
    if (this.#refreshing !== null) return this.#refreshing;
    if (this.#clock.now() - this.#refreshedAtMs < this.#limits.cooldownMs) return Promise.resolve(false);
    return this.refresh();
  }

  /** One refresh at a time, whoever asks. Resolves with whether the keys have changed; never rejects. */
  refresh(): Promise<boolean> {
    this.#refreshing ??= this.#load()
      .then((text) => this.#adopt(text))
      .catch((error: unknown) => {
        this.#onFailure(error instanceof Error ? error : new Error(String(error)));
        return false;
      })
      .finally(() => {
        this.#refreshing = null;
        this.#refreshedAtMs = this.#clock.now();
        this.#scheduleNext();
      });
    return this.#refreshing;
  }

  #scheduleNext(): void {
    if (this.#closed) return;
    if (this.#timer !== null) this.#clock.cancel(this.#timer);
    // Without any key nobody can be served: try as often as the cool-down allows.
    const delayMs = this.#getKey === null ? this.#limits.cooldownMs : this.#limits.refreshMs;
    this.#timer = this.#clock.schedule(() => {
      this.#timer = null;
      void this.refresh();
    }, delayMs);
  }

  #adopt(text: string): boolean {
    if (text === this.#text) return false;
    this.#getKey = createLocalJWKSet(JSON.parse(text) as JSONWebKeySet);
    this.#text = text;
    this.#onChanged();
    return true;
  }

  async #load(): Promise<string> {
    if ('file' in this.#source) {
      const { size } = await stat(this.#source.file);
      if (size > this.#limits.bytesMax) throw new Error(`The key set is larger than ${this.#limits.bytesMax} bytes`);
      return readFile(this.#source.file, 'utf8');
    }
    const response = await fetch(this.#source.url, {
      signal: AbortSignal.timeout(this.#limits.fetchMsMax),
      redirect: 'error',
      headers: { accept: 'application/json' },
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Error(`The key set's URL answered ${response.status}`);
    }
    return readBounded(response, this.#limits.bytesMax);
  }
}

async function readBounded(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > bytesMax) throw new Error(`The key set is larger than ${bytesMax} bytes`);
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}
