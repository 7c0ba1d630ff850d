import type { Clock } from '../../../shared/clock';
import type { AdmissionVerdict, Ingest, LedgerItem, OutcomeListener } from '../ledger';

/** Tells how long each request's items took from their admission to the last one's outcome (contract 14's write). */
export class TimedIngest implements Ingest {
  constructor(
    private readonly ingest: Ingest,
    private readonly clock: Clock,
    private readonly onWritten: (elapsedMs: number) => void,
  ) {}

  admit(items: readonly LedgerItem[], callerKey: string, onOutcome: OutcomeListener): AdmissionVerdict {
    const admittedAtMs = this.clock.now();
    let unanswered = items.length;
    return this.ingest.admit(items, callerKey, (index, outcome) => {
      unanswered -= 1;
      if (unanswered === 0) this.onWritten(this.clock.now() - admittedAtMs);
      onOutcome(index, outcome);
    });
  }
}
