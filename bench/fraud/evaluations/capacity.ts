import { randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import { laneTable } from '../../../config/lanes';
import { fraudEvaluationPayloads } from '../../load/payloads';

const { permits } = laneTable.fraud.bulkhead;
/** The first of it finds code that is not compiled yet. */
const WARM_SHARE = 0.25;

/**
 * Evaluations a second that the lane answers where as many callers as it has permits send one after another: all it can do
 * without refusing anybody. An open loop would not tell: what is beyond the capacity costs the process as well.
 */
export async function measureCapacity(url: string, token: string, durationS: number): Promise<number> {
  const agent = new Agent({ connections: permits });
  const draft = fraudEvaluationPayloads(`capacity-${randomBytes(6).toString('hex')}`);
  const startedMs = performance.now();
  const countedFromMs = startedMs + durationS * 1_000 * WARM_SHARE;
  const endMs = startedMs + durationS * 1_000;
  let index = 0;
  let counted = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const { key, body } = draft((index += 1));
      const headers = { authorization: `Bearer ${token}`, 'idempotency-key': key, 'content-type': 'application/json' };
      const answer = await request(`${url}/v1/fraud/evaluations`, { method: 'POST', dispatcher: agent, headers, body });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`A caller with a permit was answered ${answer.statusCode}`);
      if (performance.now() >= countedFromMs) counted += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: permits }, caller));
  } finally {
    await agent.close();
  }
  return Math.round(counted / ((performance.now() - countedFromMs) / 1_000));
}
