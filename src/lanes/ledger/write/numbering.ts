import type { LaneStore, Statement } from '../../../platform/database/statement';

/** The number that the next entry gets, and one that no new entry may be below. */
const nextNumber: Statement = {
  name: 'ledger_next_number',
  text: `
SELECT (SELECT base FROM ledger_numbering) + (pg_snapshot_xmax(pg_current_snapshot())::text::bigint << 21)
  >= (SELECT through_id FROM ledger_roll_up) AS rising`,
};

/**
 * Entries are numbered by their transactions (see the journal's migration), and those start anew in a cluster that was
 * restored from a dump: new entries would get numbers below what has been rolled up, and never count in a balance.
 *
 * @throws where numbers do not rise above those that are rolled up.
 */
export async function checkNumbering(store: Pick<LaneStore, 'query'>): Promise<void> {
  const [row] = await store.query<{ rising: boolean }>(nextNumber, []);
  if (row?.rising === true) return;
  throw new Error(
    'The journal was restored into another cluster, so new entries would be numbered below old ones: ' +
      'run SELECT ledger.ledger_lift_numbering() as the owner of the schema, once, then start again',
  );
}
