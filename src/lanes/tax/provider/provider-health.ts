import type { DependencyHealth } from '../../../platform/lane-registry';
import type { FailureReason } from './provider-failure';

/** One call that fails says little of the provider. */
const FAILED_IN_A_ROW = 3;

/** How the provider stands, told by the calls that are made anyway: nothing is asked only to know. */
export class ProviderHealth {
  #failedInARow = 0;
  #last: FailureReason | null = null;

  note(outcome: 'ok' | FailureReason): void {
    // A caller that left and an order that is refused are no fault of the provider.
    if (outcome === 'aborted') return;
    const failed = outcome !== 'ok' && outcome !== 'refused';
    this.#failedInARow = failed ? this.#failedInARow + 1 : 0;
    this.#last = failed ? outcome : null;
  }

  health(): DependencyHealth {
    const name = 'tax_provider';
    if (this.#last === null || this.#failedInARow < FAILED_IN_A_ROW) return { name, status: 'up' };
    return {
      name,
      status: 'degraded',
      detail: `the last ${this.#failedInARow} calls failed, the latest: ${this.#last}`,
    };
  }
}
