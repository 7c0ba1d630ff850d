import type { MigrationInterface, QueryRunner } from 'typeorm';

const SUMS = ['captured', 'reversed', 'expired', 'refunded'] as const;

/**
 * What the moves need beyond their tables: the authorization's sums as each move left them, from which a replayed answer
 * is rebuilt byte for byte (contract 8), and an outbox that several relays empty at once and that stays small.
 */
export class MovesAndOutbox1764504003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['captures', 'reversals', 'refunds']) {
      const columns = SUMS.map((sum) => `ADD COLUMN ${sum}_minor_after bigint NOT NULL`).join(', ');
      await runner.query(`ALTER TABLE ${table} ${columns}`);
    }
    await runner.query(`DROP INDEX outbox_unsettled`);
    // attempts: how often a relay has taken the row. leased_until: another relay leaves it alone until then; a relay that
    // was killed between taking and publishing holds nothing up for longer.
    await runner.query(`
      ALTER TABLE outbox
        DROP COLUMN settled_at,
        ADD COLUMN leased_until timestamptz(3)`);
    // No index covers leased_until and part of each page is free, so that taking a row costs no index entries (HOT).
    // Every row is soon dead, hence vacuum by number of rows and not by a share of them.
    await runner.query(`
      ALTER TABLE outbox SET (
        fillfactor = 60, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
      )`);
    await runner.query(`CREATE INDEX outbox_unpublished ON outbox (occurred_at) WHERE published_at IS NULL`);
    await runner.query(`CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL`);
    await runner.query(`GRANT UPDATE (leased_until) ON outbox TO card_auth_app`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX outbox_published, outbox_unpublished`);
    await runner.query(`
      ALTER TABLE outbox
        RESET (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold,
          autovacuum_analyze_scale_factor, autovacuum_analyze_threshold),
        DROP COLUMN leased_until,
        ADD COLUMN settled_at timestamptz(3)`);
    await runner.query(`CREATE INDEX outbox_unsettled ON outbox (occurred_at) WHERE settled_at IS NULL`);
    await runner.query(`GRANT UPDATE (settled_at) ON outbox TO card_auth_app`);
    for (const table of ['captures', 'reversals', 'refunds']) {
      const columns = SUMS.map((sum) => `DROP COLUMN ${sum}_minor_after`).join(', ');
      await runner.query(`ALTER TABLE ${table} ${columns}`);
    }
  }
}
