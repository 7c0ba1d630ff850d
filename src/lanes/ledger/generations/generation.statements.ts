import type { Statement } from '../../../platform/database/statement';

/** All generations in their order; the last one is written to. */
export const listGenerations: Statement = {
  name: 'ledger_list_generations',
  text: `SELECT generation, end_id IS NOT NULL AS sealed FROM ledger_generations ORDER BY generation`,
};

/** Makes the table that the next generation will need. */
export const prepareGeneration: Statement = {
  name: 'ledger_prepare_generation',
  text: `SELECT ledger_prepare_generation() AS generation`,
};

/** Turns to the next generation where the current one's table has so many bytes: 1. Null where it has not. */
export const rollGeneration: Statement = {
  name: 'ledger_roll_generation',
  text: `SELECT ledger_roll_generation($1::bigint) AS generation`,
};

/** The sealed generations without sums, and how many blocks their tables have. */
export const generationsWithoutSums: Statement = {
  name: 'ledger_generations_without_sums',
  text: `
SELECT g.generation,
  (pg_relation_size(format('ledger_journal_%s', g.generation)::regclass) / current_setting('block_size')::integer)::integer
    AS blocks
FROM ledger_generations g
WHERE g.end_id IS NOT NULL AND NOT EXISTS (SELECT FROM ledger_generation_sums s WHERE s.generation = g.generation)
ORDER BY g.generation`,
};

/** Debits and credits in some blocks of a generation's table: 1 generation, 2 and 3 blocks. */
export const sumsOfBlocks: Statement = {
  name: 'ledger_sums_of_blocks',
  text: `
SELECT debit_account_no, credit_account_no, sum(amount_minor)::text AS amount, count(*)::integer AS entries
FROM ledger_journal
WHERE generation = $1::integer
  AND ctid >= format('(%s,0)', $2::integer)::tid AND ctid < format('(%s,0)', $3::integer)::tid
GROUP BY debit_account_no, credit_account_no`,
};

/** Keeps a sealed generation's sums; whoever comes second changes nothing. 1 generation, then columns. */
export const keepSums: Statement = {
  name: 'ledger_keep_sums',
  text: `
INSERT INTO ledger_generation_sums (generation, account_no, debits_minor, credits_minor, entries)
SELECT $1::integer, s.* FROM unnest($2::integer[], $3::numeric[], $4::numeric[], $5::bigint[])
  AS s (account_no, debits, credits, entries)
ON CONFLICT DO NOTHING`,
};

/** How many entries a sealed generation has, and blocks: 1 generation. Each entry is in the sums of two accounts. */
export const sizeOfGeneration: Statement = {
  name: 'ledger_size_of_generation',
  text: `
SELECT (coalesce(sum(entries), 0) / 2)::integer AS entries,
  (pg_relation_size(format('ledger_journal_%s', $1::integer)::regclass) / current_setting('block_size')::integer)::integer
    AS blocks
FROM ledger_generation_sums WHERE generation = $1::integer`,
};

/** The heads of the keys in some blocks: 1 generation, 2 and 3 blocks, 4 bytes of a head. */
export const headsOfBlocks: Statement = {
  name: 'ledger_heads_of_blocks',
  text: `
SELECT coalesce(string_agg(substr(idempotency_key, 1, $4::integer), ''::bytea), ''::bytea) AS heads
FROM ledger_journal
WHERE generation = $1::integer
  AND ctid >= format('(%s,0)', $2::integer)::tid AND ctid < format('(%s,0)', $3::integer)::tid`,
};

/** 1 generation, 2 the filter of all its keys. */
export const keepFilter: Statement = {
  name: 'ledger_keep_filter',
  text: `INSERT INTO ledger_generation_filters (generation, bits) VALUES ($1::integer, $2::bytea) ON CONFLICT DO NOTHING`,
};

export const findFilter: Statement = {
  name: 'ledger_find_filter',
  text: `SELECT bits FROM ledger_generation_filters WHERE generation = $1::integer`,
};

export const generationStatements: readonly Statement[] = [
  listGenerations,
  prepareGeneration,
  rollGeneration,
  generationsWithoutSums,
  sumsOfBlocks,
  keepSums,
  sizeOfGeneration,
  headsOfBlocks,
  keepFilter,
  findFilter,
];
