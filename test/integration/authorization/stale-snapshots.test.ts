import type { Client } from 'pg';
import { addCards, addMerchants, heldOn, openLaneProcess, tryOnce } from '../../fixtures/authorization-lane';
import {
  addAccounts,
  imbalances,
  type MovesProcess,
  openMovesProcess,
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

function ask(cardToken: string, key: string, amountMinor: number) {
  return tryOnce(lane.committer, key, { merchantId: 'mer_a', cardToken, amountMinor, currency: 'USD' });
}

/** A table function that takes its time holds a statement between its snapshot and its locks. */
async function slowMerchants(): Promise<void> {
  await owner.query(`
    CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$ BEGIN PERFORM pg_sleep(0.15); RETURN true; END $$`);
}

it('money that was given back after a statement’s snapshot can be held by that very statement', async () => {
  await slowMerchants();
  await addCards(owner, { token: 'full', limitMinor: 100 });
  const first = await ask('full', 'full 1', 70);
  // The same statement, save that it sleeps before it locks the card.
  const sleepy = await openLaneProcess(test, {
    connections: 2,
    storeOf: (repository) => repository,
  });
  const query = sleepy.database.query.bind(sleepy.database);
  sleepy.database.query = (statement, values) =>
    query(
      statement.name === 'authorization_place'
        ? {
            name: 'sleepy',
            text: statement.text.replace(
              `FROM cards WHERE token = ANY ($6::text[])\n  FOR NO KEY`,
              `FROM cards WHERE token = ANY ($6::text[]) AND (SELECT slow())\n  FOR NO KEY`,
            ),
          }
        : statement,
      values,
    );
  const late = tryOnce(sleepy.committer, 'full 2', {
    merchantId: 'mer_a',
    cardToken: 'full',
    amountMinor: 60,
    currency: 'USD',
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await tryMove(lane.runner, { kind: 'reversal', target: first.authorization?.rowId ?? '' })).result).toBe(
    'moved',
  );
  expect((await late).result).toBe('00');
  expect(await heldOn(owner, 'full')).toEqual({ held: '60', summed: '60' });
  expect(await imbalances(owner)).toEqual([]);
});
