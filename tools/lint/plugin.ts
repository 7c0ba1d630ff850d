import { laneTable } from '../../config/lanes';
import { createSharedFailureDomainRule } from './shared-failure-domain';

/** The rules of this repository, as an ESLint plugin named `payment-core`. */
export const plugin = {
  meta: { name: 'payment-core' },
  rules: { 'shared-failure-domain': createSharedFailureDomainRule(laneTable) },
};
