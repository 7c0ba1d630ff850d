import { type CanActivate, Inject, Injectable } from '@nestjs/common';
import { PaymentError } from '../../shared/problem';
import { ESTIMATOR, type Estimator } from './tax';
import { taxProblems } from './tax.problems';

/** Where nobody has certified the table the lane serves nothing: a refusal of it would come without an estimate (ADV-UC-01). */
@Injectable()
export class CompensationGuard implements CanActivate {
  constructor(@Inject(ESTIMATOR) private readonly estimator: Estimator) {}

  canActivate(): boolean {
    if (this.estimator.rejection === null) return true;
    throw new PaymentError(
      taxProblems.untestedCompensation,
      'The estimates that this lane would answer with are not certified; its operators are told why.',
    );
  }
}
