import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { PaymentClient } from '../../../examples/client/payment-client';
import type { Caller } from './system';

const CALLERS = 10;
/** Between the payments of one caller: together some 50 a second, which no lane notices. */
const PAUSE_MS = 200;
const FAILURES_TOLD_MAX = 5;

export interface ExampleCallersResult {
  readonly answered: number;
  /** Operations that the client gave up, with everything that docs/clients.md asks of it. */
  readonly failed: number;
  readonly failures: readonly string[];
}

/** A line of the audit's file; without an id the row may be there or not. */
interface Audited {
  readonly key: string;
  readonly status: 201 | null;
  readonly id: string | null;
}

/**
 * Callers that keep to docs/clients.md by the example client, beside the load: what is promised to whoever follows it
 * (contract 14, "all within three retries that obey `Retry-After`") is seen with the very code that is given to them.
 */
export class ExampleCallers {
  readonly #client: PaymentClient;
  readonly #subject: string;
  readonly #failures: string[] = [];
  readonly #audited: Audited[] = [];
  readonly #callers: Promise<void>[];
  #answered = 0;
  #failed = 0;
  #stopped = false;

  constructor(url: string, { subject, token }: Caller) {
    this.#client = new PaymentClient({ baseUrl: url, token });
    this.#subject = subject;
    this.#callers = Array.from({ length: CALLERS }, (_, caller) => this.#pay(caller));
  }

  /** Lets every operation end. */
  async stop(): Promise<ExampleCallersResult> {
    this.#stopped = true;
    await Promise.all(this.#callers);
    return { answered: this.#answered, failed: this.#failed, failures: this.#failures };
  }

  /** For the audit of the load, whose caller this is: a system that runs already has given the drill one token. */
  appendTo(auditFile: string): void {
    appendFileSync(auditFile, this.#audited.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }

  async #pay(caller: number): Promise<void> {
    const request = {
      merchant_id: 'mer_demo_0001',
      card_token: `card_demo_usd_${String(caller + 1).padStart(4, '0')}`,
      amount_minor: 1,
      currency: 'USD',
    };
    for (let payment = 0; !this.#stopped; payment += 1) {
      const key = `${this.#subject}-example-${caller}-${payment}`;
      try {
        const { id } = await this.#client.authorize(request, { key });
        this.#audited.push({ key, status: 201, id });
        this.#answered += 1;
      } catch (error) {
        this.#audited.push({ key, status: null, id: null });
        this.#failed += 1;
        if (this.#failures.length < FAILURES_TOLD_MAX) this.#failures.push(String(error));
      }
      await sleep(PAUSE_MS);
    }
  }
}
