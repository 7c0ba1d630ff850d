import type { Provider } from '@nestjs/common';
import type { AlertBoard } from '../../../platform/alerts';
import { StartRefusal } from '../../../platform/start-refusal';
import type { Clock } from '../../../shared/clock';
import { ESTIMATOR } from '../tax';
import { CertificateWatch } from './certificate-watch';
import { CertifiedEstimator } from './certified-estimator';
import { readCompensationFiles } from './compensation-files';
import { type Verification, verifyCompensation } from './verify-compensation';

export interface CompensationOptions {
  /** Holds the table and its certificate. */
  readonly folder: string;
  /**
   * True in a process that hosts this lane only: it refuses to start with a table that nobody has certified. In `all` the
   * tax routes answer 503 instead, and cards serve (contract 10).
   */
  readonly refuseToStart: boolean;
  readonly clock: Clock;
  readonly alerts: AlertBoard;
}

/**
 * The lane's estimator and the watch over its certificate.
 *
 * @throws StartRefusal where the table is rejected and this process may not start with it.
 */
export function compensationProviders({ folder, refuseToStart, clock, alerts }: CompensationOptions): Provider[] {
  const verification: Verification = verifyCompensation(readCompensationFiles(folder));
  if (!verification.accepted && refuseToStart) {
    throw new StartRefusal(`The tax lane was not started.\n  ${verification.rejection}`);
  }
  const wallNowMs = (): number => Date.now();
  return [
    { provide: ESTIMATOR, useFactory: () => new CertifiedEstimator(verification, wallNowMs) },
    { provide: CertificateWatch, useFactory: () => new CertificateWatch(verification, { clock, alerts, wallNowMs }) },
  ];
}
