import { request } from 'undici';

/** What a drill asks of the tax provider's simulator (contract 15). */
export interface ProviderFaults {
  readonly latency_ms?: number;
  readonly mode?: 'ok' | 'hang' | 'reset' | 'garbage' | 'slow_body';
  readonly error_rate?: number;
}

export interface ProviderCounts {
  readonly in_flight: number;
  readonly calls: number;
  readonly aborted: number;
}

const ANSWER_MS_MAX = 2_000;

export class Provider {
  constructor(readonly url: string) {}

  /** @returns when it was set, on the wall clock: calls that arrive from then on meet it. */
  async set(faults: ProviderFaults): Promise<number> {
    const { statusCode, body } = await request(`${this.url}/control`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(faults),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    const said = await body.text();
    if (statusCode !== 200) throw new Error(`The provider's simulator answered ${statusCode}: ${said}`);
    return Date.now();
  }

  async counts(): Promise<ProviderCounts> {
    const { body } = await request(`${this.url}/control`, { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    return (await body.json()) as ProviderCounts;
  }
}
