import type { Client } from 'pg';
import { AuthorizationRepository } from '../../../src/lanes/authorization/authorization.repository';
import { placeAuthorizations } from '../../../src/lanes/authorization/authorization.statements';
import type { LaneStore } from '../../../src/platform/database/statement';
import {
  addCards,
  addMerchants,
  heldOn,
  type LaneProcess,
  openLaneProcess,
  tryOnce,
} from '../../fixtures/authorization-lane';
import {
  addAccounts,
  imbalances,
  type MovesProcess,
  openMovesProcess,
  tampered,
  tryMove,
} from '../../fixtures/authorization-moves';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

let test: TestDatabase;
let owner: Client;
let lane: MovesProcess;

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  await addAccounts(owner, 'USD', 'mer_a');
  lane = await openMovesProcess(test, { connections: 5 });
});

function ask(process: LaneProcess, cardToken: string, key: string, amountMinor: number) {
  return tryOnce(process.committer, key, { merchantId: 'mer_a', cardToken, amountMinor, currency: 'USD' });
}

/** Asks a process whose statement sleeps between its snapshot and its locks, and gives the money back meanwhile. */
async function holdWhatIsGivenBack(card: string, change: (text: string) => string): Promise<string> {
  await addCards(owner, { token: card, limitMinor: 100 });
  const first = await ask(lane, card, `${card} 1`, 70);
  const sleepy = await openLaneProcess(test, {
    connections: 2,
    storeOf: () =>
      new AuthorizationRepository(
        tampered(sleepyDatabase(), ({ name, text }) =>
          name === placeAuthorizations.name ? change(asleep(text)) : text,
        ),
      ),
  });
  function sleepyDatabase(): LaneStore {
    return {
      query: (...given) => sleepy.database.query(...given),
      transaction: (work) => sleepy.database.transaction(work),
    };
  }
  const late = ask(sleepy, card, `${card} 2`, 60);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const reversal = await tryMove(lane.runner, { kind: 'reversal', target: first.authorization?.rowId ?? '' });
  expect(reversal.result).toBe('moved');
  return (await late).result;
}

function asleep(text: string): string {
  const slow = text.replace(
    /FROM cards WHERE token = ANY \(\$6::text\[\]\)\n(\s*)FOR NO KEY/,
    'FROM cards WHERE token = ANY ($6::text[]) AND (SELECT pg_sleep(0.2)::text IS NOT NULL)\n$1FOR NO KEY',
  );
  expect(slow).not.toBe(text);
  return slow;
}

it('money that was given back after a statement’s snapshot can be held by that very statement', async () => {
  expect(await holdWhatIsGivenBack('full', (text) => text)).toBe('00');
  expect(await heldOn(owner, 'full')).toEqual({ held: '60', summed: '60' });
  expect(await imbalances(owner)).toEqual([]);
});

it('which a sum that begins with the snapshot’s row would not: the CHECK sees that row first', async () => {
  const added = (text: string) =>
    text.replace('= j.held_minor + j.amount_minor', '= cards.held_minor + j.amount_minor');
  expect(await holdWhatIsGivenBack('careless', added)).toBe('ERR_INTERNAL');
});
