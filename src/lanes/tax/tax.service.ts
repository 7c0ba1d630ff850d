import { randomUUID } from 'node:crypto';
import type { KeyedOutcome, KeyedRequest } from '../../ingress/idempotency';
import { type IdempotencyCoordinator, type KeyedAnswer, TWIN_WAIT_MS_MAX } from '../../ingress/idempotency.coordinator';
import type { Clock } from '../../shared/clock';
import { PaymentError } from '../../shared/problem';
import type { EstimateRepository } from './estimates/estimate.repository';
import type { EstimateRing } from './estimates/estimate-ring';
import { PENDING, type ReconciledEstimate } from './estimates/served-estimate';
import type { TaxProvider } from './provider/provider-client';
import { type FailureReason, ProviderFailure } from './provider/provider-failure';
import { lacksForTaxjar } from './provider/taxjar-order';
import { storeFailureOf } from './store-failure';
import type { Quote, QuoteRequest, StoredQuote } from './tax';
import { isQuoteId, newQuoteId } from './tax-id';
import { taxProblems } from './tax.problems';
import type { QuoteToStore, TaxRepository, UnderKey } from './tax.repository';

export interface TaxServiceOptions {
  readonly provider: TaxProvider;
  readonly repository: Pick<TaxRepository, 'open' | 'keep' | 'release' | 'find'>;
  readonly estimates: Pick<EstimateRepository, 'find'>;
  readonly ring: Pick<EstimateRing, 'find'>;
  readonly coordinator: IdempotencyCoordinator;
  readonly clock: Clock;
  /** So long a process that was killed holds a key up; longer than any call of the provider lasts. */
  readonly claimMs: number;
  readonly onUnstored: (error: unknown) => void;
  /** Runs the work of an execution, and knows of it until it ends. */
  readonly track: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Who asks, under which key, and when to stop. */
export interface QuoteCall {
  readonly caller: string;
  readonly keyed: KeyedRequest;
  readonly request: QuoteRequest;
  readonly signal: AbortSignal;
}

/** Between looks at a key that another process works on. */
const HELD_POLL_MS = 50;
/** So long a quote waits for being stored; a database that hangs must not keep it from its caller (contract 4.8). */
const STORE_MS_MAX = 1_000;

/** What callers of the lane can do; knows no HTTP. */
export class TaxService {
  readonly #options: TaxServiceOptions;

  constructor(options: TaxServiceOptions) {
    this.#options = options;
  }

  /**
   * The provider's tax on an order; a repeat under its key gets the first answer again (contract 8). The key is looked
   * up, the provider is called and the answer is stored in three steps, between which no connection is held [ADV-FD-01].
   *
   * @throws PaymentError `ERR_TAX_PROVIDER_UNAVAILABLE`; nothing is stored then, so that the same key runs again.
   */
  quote(call: QuoteCall): Promise<KeyedAnswer<StoredQuote>> {
    const { coordinator, track } = this.#options;
    return track(() => coordinator.run(call.keyed, () => this.#run(call)));
  }

  /** @throws PaymentError 404 for an id that is none, or another caller's. */
  async read(caller: string, id: string): Promise<StoredQuote | ReconciledEstimate> {
    const found = isQuoteId(id) ? await this.#options.track(() => this.#find(caller, id)) : null;
    if (found === null) throw new PaymentError(taxProblems.notFound, 'There is no such quote.');
    return found;
  }

  async #find(caller: string, id: string): Promise<StoredQuote | ReconciledEstimate | null> {
    const { ring, repository, estimates } = this.#options;
    // Served a moment ago, and not written yet.
    const inMemory = ring.find(id);
    if (inMemory !== null) {
      return inMemory.caller === caller ? { id, estimate: inMemory.estimate, reconciliation: PENDING } : null;
    }
    try {
      return (await repository.find(id, caller)) ?? (await estimates.find(id, caller));
    } catch (error) {
      throw storeFailureOf(error);
    }
  }

  async #run(call: QuoteCall): Promise<KeyedOutcome<StoredQuote>> {
    const owner = randomUUID();
    const known = await this.#open(call.keyed, owner);
    if (known !== null) return known;
    const quote = await this.#ask(call, owner);
    const { caller, keyed, request } = call;
    const toStore = { keyed, owner, id: newQuoteId(), caller, currency: request.currency, quote };
    const standing = await this.#keep(toStore);
    if (standing !== null) return outcomeOf(standing, keyed);
    return { kind: 'answered', answer: { id: toStore.id, quote }, replayed: false };
  }

  /** Null where the key is this call's now. A key that another process works on gets the same 250 ms as a twin here. */
  async #open(keyed: KeyedRequest, owner: string): Promise<KeyedOutcome<StoredQuote> | null> {
    const { repository, clock, claimMs } = this.#options;
    const giveUpAtMs = clock.now() + TWIN_WAIT_MS_MAX;
    for (;;) {
      const opened = await repository.open(keyed, owner, claimMs).catch((error: unknown) => {
        throw storeFailureOf(error);
      });
      if (opened.kind === 'claimed') return null;
      if (opened.kind === 'stored') return outcomeOf(opened, keyed);
      if (opened.payloadHash !== null && !opened.payloadHash.equals(keyed.payloadHash)) return { kind: 'key_reused' };
      if (clock.now() + HELD_POLL_MS > giveUpAtMs) return { kind: 'in_flight' };
      await this.#pause(HELD_POLL_MS);
    }
  }

  async #ask({ keyed, request, signal }: QuoteCall, owner: string): Promise<Quote> {
    const { provider, repository } = this.#options;
    try {
      return await provider.quote(request, signal);
    } catch (error) {
      // Not waited for: where the database does not answer the lease gives the key free.
      repository.release(keyed.scopeHash, owner).catch(() => undefined);
      if (!(error instanceof ProviderFailure)) throw error;
      throw new PaymentError(taxProblems.providerUnavailable, wordsFor(error.reason, request), { cause: error });
    }
  }

  /**
   * Null where it was stored, or could not be: the caller has its answer all the same, and a repeat under the key asks
   * the provider again (contract 4.8). A statement that outlasts the wait ends by its own limit.
   */
  async #keep(quote: QuoteToStore): Promise<UnderKey | null> {
    const { repository, clock, onUnstored } = this.#options;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = clock.schedule(() => reject(new Error(`Not stored within ${STORE_MS_MAX} ms`)), STORE_MS_MAX);
    try {
      return await Promise.race([repository.keep(quote), late]);
    } catch (error) {
      onUnstored(error);
      return null;
    } finally {
      clock.cancel(timer);
    }
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#options.clock.schedule(resolve, delayMs));
  }
}

function outcomeOf({ payloadHash, stored }: UnderKey, keyed: KeyedRequest): KeyedOutcome<StoredQuote> {
  if (!payloadHash.equals(keyed.payloadHash)) return { kind: 'key_reused' };
  return { kind: 'answered', answer: stored, replayed: true };
}

function wordsFor(reason: FailureReason, { shipTo }: QuoteRequest): string {
  switch (reason) {
    case 'late':
      return 'The tax provider did not answer in time.';
    case 'unreachable':
      return 'The tax provider cannot be reached at present.';
    case 'down':
      return 'The tax provider is out of order at present.';
    case 'refused':
      return `The tax provider does not answer this order: ${lacksForTaxjar(shipTo) ?? 'check the country, the region and the postal code'}.`;
    case 'wrong':
      return 'The tax provider gave an answer that cannot be right, and it was not used.';
    case 'aborted':
      return 'The call of the tax provider was broken off.';
    default:
      throw new Error(`Unknown reason ${String(reason satisfies never)}`);
  }
}
