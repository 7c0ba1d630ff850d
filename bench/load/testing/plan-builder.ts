import { authorizationPayloads } from '../payloads';
import { planDefaults, targetDefaults, type LoadPlan, type TargetPlan } from '../plan';

/** A target for tests; its keys are unique per call of the test, not over tests. */
export function aTarget(url: string, changes: Partial<TargetPlan> = {}): TargetPlan {
  return {
    ...targetDefaults,
    name: 'authorizations',
    url: `${url}/v1/authorizations`,
    stages: [{ durationS: 0.5, rate: 200 }],
    payload: authorizationPayloads('test'),
    connections: 4,
    ...changes,
  };
}

/** Tests run beside other work, so their limit for lag is wide unless lag is what they are about. */
export function aPlan(targets: readonly TargetPlan[], changes: Partial<LoadPlan> = {}): LoadPlan {
  return { ...planDefaults, lagP99MsMax: 10_000, targets, ...changes };
}
