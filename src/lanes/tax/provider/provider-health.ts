import type { DependencyHealth } from '../../../platform/lane-registry';
import type { FailureReason } from './provider-failure';

/** One call that fails says little of the provider. */
const FAILED_IN_A_ROW = 3;
/** One order that is refused says nothing of it; this many in a row say that it is the account, or the address called. */
const REFUSED_IN_A_ROW = 20;

/** How the provider stands, told by the calls that are made anyway: nothing is asked only to know. */
export class ProviderHealth {
  #failedInARow = 0;
  #refusedInARow = 0;
  #last: FailureReason | null = null;

  note(outcome: 'ok' | FailureReason): void {
    // A caller that left is no fault of the provider, and an order that is refused is none by itself.
    if (outcome === 'aborted') return;
    const failed = outcome !== 'ok' && outcome !== 'refused';
    this.#failedInARow = failed ? this.#failedInARow + 1 : 0;
    this.#refusedInARow = outcome === 'refused' ? this.#refusedInARow + 1 : 0;
    this.#last = failed ? outcome : null;
  }

  health(): DependencyHealth {
    const name = 'tax_provider';
    if (this.#refusedInARow >= REFUSED_IN_A_ROW) {
      const detail =
        `the last ${this.#refusedInARow} orders were refused: TAX_PROVIDER_URL may be wrong, or the account may lack ` +
        'the address that goods are sent from';
      return { name, status: 'degraded', detail };
    }
    if (this.#last === null || this.#failedInARow < FAILED_IN_A_ROW) return { name, status: 'up' };
    return {
      name,
      status: 'degraded',
      detail: `the last ${this.#failedInARow} calls failed, the latest: ${this.#last}`,
    };
  }
}
