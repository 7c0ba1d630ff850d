import { hash } from 'node:crypto';
import { type Caller, mayActFor } from '../../../ingress/caller';
import type { Clock } from '../../../shared/clock';
import { PaymentError } from '../../../shared/problem';
import { ledgerProblems } from '../ledger.problems';
import type { Entry, EntryRepository } from './entry.repository';

/** Entries of one answer. */
export const PAGE_ENTRIES_MAX = 200;
/** A flush commits within 20 ms as a rule; what takes longer is on a later page. */
const SETTLING_MS_MAX = 100;
const SETTLING_POLL_MS = 5;

export interface EntryPage {
  readonly entries: readonly Entry[];
  /** The id behind which the next page begins; null where this one is empty. */
  readonly next: string | null;
}

/**
 * The journal in pages that never skip an entry: one that commits late has a smaller id than others that are visible
 * already, so a page ends before the first id below which one could still come (contract 11).
 */
export class EntryReader {
  readonly #repository: EntryRepository;
  readonly #clock: Clock;

  constructor(repository: EntryRepository, clock: Clock) {
    this.#repository = repository;
    this.#clock = clock;
  }

  /** Entries of merchants outside the caller's claim are left out, so that a page may have fewer than there are. */
  async ofAccount(caller: Caller, accountId: string, afterId: bigint): Promise<EntryPage> {
    const settled = await this.#settled(accountId, afterId);
    return {
      entries: settled.filter(({ merchantId }) => mayActFor(caller, merchantId)),
      next: settled.at(-1)?.id ?? null,
    };
  }

  /** @throws PaymentError 404 for a merchant outside the caller's claim. */
  async ofTransaction(caller: Caller, merchantId: string, externalTransactionId: string): Promise<EntryPage> {
    if (!mayActFor(caller, merchantId)) throw new PaymentError(ledgerProblems.notFound, 'There is no such merchant.');
    const found = await this.#repository.ofKey(hash('sha256', `${merchantId}:${externalTransactionId}`, 'hex'));
    return { entries: found === null ? [] : [found], next: found?.id ?? null };
  }

  /**
   * A writer finds its own entry as soon as it was answered: what was visible at the beginning is waited for, for as long
   * as a flush takes and not for a transaction that hangs.
   */
  async #settled(accountId: string, afterId: bigint): Promise<readonly Entry[]> {
    const giveUpAtMs = this.#clock.now() + SETTLING_MS_MAX;
    let page = await this.#repository.ofAccount(accountId, afterId, PAGE_ENTRIES_MAX);
    const seen = page.length;
    // The page's order is that of the ids: where its last one is settled, all are.
    while (page[seen - 1]?.settled === false && this.#clock.now() < giveUpAtMs) {
      await new Promise<void>((resolve) => this.#clock.schedule(resolve, SETTLING_POLL_MS));
      page = await this.#repository.ofAccount(accountId, afterId, PAGE_ENTRIES_MAX);
    }
    return page.filter(({ settled }) => settled);
  }
}
