import { SCENARIOS, type Candidate } from '../candidate';
import { asyncSema } from './async-sema';
import { cockatiel } from './cockatiel';
import { opossum } from './opossum';
import { pLimit } from './p-limit';
import { paymentCore } from './payment-core';

const order = Object.keys(SCENARIOS);

/** By scenario, ours first. */
export const CANDIDATES: readonly Candidate[] = [
  ...paymentCore,
  ...asyncSema,
  ...cockatiel,
  ...opossum,
  ...pLimit,
].sort((a, b) => order.indexOf(a.scenario) - order.indexOf(b.scenario));
