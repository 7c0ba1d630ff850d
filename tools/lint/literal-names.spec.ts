import { type Example, type FailingExample, finding, inEachPlace, runExamples } from './rule-harness';

const literal = (name: string): RegExp => finding(name, 'literal name');
const member = (what: string): RegExp => finding(what, 'member access');

/** The same code in a service, a worker, a migration and a health indicator of the tax lane. */
function fails(kind: string, code: string, ...errors: RegExp[]): FailingExample[] {
  return inEachPlace(kind, code).map((example) => ({ ...example, errors }));
}

function passes(kind: string, code: string): Example[] {
  return inEachPlace(kind, code);
}

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: literal name',
  [
    ...fails('a datasource', `export const a = 'fraud_ds';`, literal('datasource `fraud_ds`')),
    ...fails(
      'a bulkhead',
      `export const a = { bulkhead: 'bulkhead_fraud_eval' };`,
      literal('bulkhead `bulkhead_fraud_eval`'),
    ),
    ...fails(
      'a bulkhead for reads',
      `export const a = ['bulkhead_ledger_read'];`,
      finding('bulkhead `bulkhead_ledger_read`', 'literal name', 'the tax lane', 'ledger'),
    ),
    ...fails(
      'a queue in a Redis key',
      `export const a = 'bull:fraud-overflow:wait';`,
      literal('queue `fraud-overflow`'),
    ),
    ...fails(
      'a database role',
      `export const a = 'grant usage on schema tax to fraud_app';`,
      literal('database role `fraud_app`'),
    ),
    ...fails('an owning role', `export const a = 'SET ROLE fraud_owner';`, literal('database role `fraud_owner`')),
    ...fails(
      'two at once',
      `export const a = 'fraud_ds,card_auth_ds';`,
      literal('fraud_ds'),
      finding('card_auth_ds', 'literal name', 'the tax lane', 'authorization'),
    ),
    ...fails('a sum', `export const a = 'fraud' + '_ds';`, literal('fraud_ds')),
    ...fails('a template', "const ds = 'fraud' as const; export const a = `${ds}_ds`;", literal('fraud_ds')),
    ...fails('a type', `export type A = 'fraud-overflow';`, literal('queue `fraud-overflow`')),
    ...fails('a comparison', `export const a = (name: string): boolean => name === 'fraud_ds';`, literal('fraud_ds')),
    ...fails(
      'a constant from elsewhere',
      `import { FRAUD_SOURCE } from '@/config/names'; export const a = { name: FRAUD_SOURCE };`,
      literal('fraud_ds'),
    ),
    ...fails(
      'SQL from elsewhere',
      `import { FRAUD_COUNT } from '@/config/names'; export const a = [FRAUD_COUNT];`,
      literal('fraud.evaluations'),
    ),
  ],
  [
    ...passes('own names', `export const a = ['tax_ds', 'bulkhead_tax_calc', 'tax-reconciliation', 'tax_app'];`),
    ...passes('own name by constant', `import { TAX_SOURCE } from '@/config/names'; export const a = [TAX_SOURCE];`),
    ...passes(
      'prose',
      `export const a = ['This looks like fraud. Ask the ledger.', 'authorization and tax', 'fraud', 'ledger'];`,
    ),
    ...passes('error codes', `export const a = ['ERR_FRAUD_OVERFLOW_UNAVAILABLE', 'ERR_LEDGER_BUFFER_FULL'];`),
    ...passes(
      'longer words',
      `export const a = ['fraud_dsl', 'fraud_application', 'my-fraud-overflow-view', 'bulkhead_fraud_evaluation'];`,
    ),
    ...passes('comments', `/* fraud_ds, fraud.evaluations, DATABASE_URL_FRAUD */ export const a = 1; // card_auth_ds`),
    ...passes('the other lane by HTTP', 'export const a = (url: string) => fetch(`${url}/v1/fraud/evaluations`);'),
    ...passes('a sum of numbers', `export const a = (left: number, right: number): number => left + right;`),
  ],
);

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: tables and schemas',
  [
    ...fails(
      'a table in SQL',
      `export const a = 'select id from fraud.evaluations where id = $1';`,
      literal('schema `fraud.evaluations`'),
    ),
    ...fails(
      'a quoted table',
      `export const a = 'DELETE FROM "fraud"."evaluations"';`,
      literal('schema `fraud.evaluations`'),
    ),
    ...fails(
      'a table among own ones',
      `export const a = 'select 1 from tax.quotes q join fraud.evaluations e on e.id = q.id';`,
      literal('fraud.evaluations'),
    ),
    ...fails(
      'a table beside a column of the name',
      `export const a = 'select score as fraud from fraud.evaluations';`,
      literal('fraud.evaluations'),
    ),
    ...fails(
      'a table in a list',
      `export const a = 'select 1 from tax.quotes q, fraud.evaluations e';`,
      literal('fraud.evaluations'),
    ),
    ...fails(
      'a sequence',
      `export const a = "SELECT nextval('fraud.evaluation_seq')";`,
      literal('fraud.evaluation_seq'),
    ),
    ...fails(
      'a type',
      `export const a = 'alter table quotes add column verdict fraud.verdict, add x int default 1::fraud.verdict';`,
      literal('fraud.verdict'),
    ),
    ...fails(
      'an insert',
      `export const a = 'insert into fraud.evaluations (id) values ($1)';`,
      literal('fraud.evaluations'),
    ),
    ...fails('an update', `export const a = 'update fraud.evaluations e set score = 1';`, literal('fraud.evaluations')),
    ...fails(
      'a foreign key',
      `export const a = 'id text references fraud.evaluations (id)';`,
      literal('fraud.evaluations'),
    ),
    ...fails(
      'a fragment',
      `export const a = ['SELECT 1', 'FROM fraud.evaluations'].join(' ');`,
      literal('fraud.evaluations'),
    ),
    ...fails(
      'a sum',
      `export const a = 'select id ' + 'from fraud.evaluations' + ' limit 1';`,
      literal('fraud.evaluations'),
    ),
    ...fails('a function', `export const a = 'SELECT fraud.next_id($1)';`, literal('fraud.next_id')),
    ...fails(
      'a schema that is created',
      `export const a = 'create schema if not exists fraud';`,
      literal('schema `fraud`'),
    ),
    ...fails(
      'rights in a schema',
      `export const a = 'GRANT USAGE ON SCHEMA fraud TO tax_app';`,
      literal('schema `fraud`'),
    ),
    ...fails('a search path', `export const a = 'set search_path to tax, fraud';`, literal('schema `fraud`')),
    ...fails(
      'a template with a schema from the table',
      "import { laneTable } from '@/config/lanes'; export const a = `select 1 from ${laneTable.fraud.datasource.schema}.evaluations`;",
      literal('fraud.evaluations'),
      member('row in a table by lane'),
    ),
    ...fails(
      'an entity option',
      `import { Entity } from '@/src/platform/nest'; @Entity('evaluations', { schema: 'fraud' }) export class A {}`,
      literal('schema `fraud`'),
    ),
    ...fails(
      'an entity name',
      `import { Entity } from '@/src/platform/nest'; @Entity('fraud.evaluations') export class A {}`,
      literal('schema `fraud.evaluations`'),
    ),
    ...fails(
      'a folder of entities',
      `export const a = { entities: ['src/lanes/fraud/entities/*.ts'] };`,
      literal('src/lanes/fraud/entities'),
    ),
    ...fails(
      'a folder of migrations',
      `export const a = { migrations: ['dist/migrations/fraud/*.js'] };`,
      literal('dist/migrations/fraud'),
    ),
  ],
  [
    ...passes('own tables', `export const a = 'insert into tax.quotes (id) select id from "tax"."lines"';`),
    ...passes('no schema', `export const a = 'select fraud, ledger from quotes';`),
    ...passes(
      'a common table expression',
      `export const a = 'with fraud as (select 1 as id) select fraud.id from fraud';`,
    ),
    ...passes(
      'an alias',
      `export const a = 'select fraud.id, ledger.id from quotes as fraud, lines ledger join x ledger on true';`,
    ),
    ...passes(
      'prose with a dot',
      `export const a = ['Rates come from fraud.json', 'update the ledger.', 'See fraud.example.com', 'fraud.score'];`,
    ),
    ...passes(
      'prose with words of SQL',
      `export const a = 'Select your card from the list, update it, see fraud.html, then delete it from your list.';`,
    ),
    ...passes('a host', `export const a = 'https://fraud.example.com/select/from';`),
    ...passes(
      'own folder',
      `export const a = { migrations: ['migrations/tax/*.ts'], entities: ['src/lanes/tax/entities/*.ts'] };`,
    ),
    ...passes('a path of the API', `export const a = ['/v1/fraud/evaluations', '/health/ready/ledger'];`),
  ],
);

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: settings, table by lane, members',
  [
    ...fails(
      'a variable by name',
      `export const a = process.env.DATABASE_URL_FRAUD;`,
      literal('setting `DATABASE_URL_FRAUD`'),
    ),
    ...fails(
      'a variable by text',
      `export const a = process.env['REDIS_URL_FRAUD'];`,
      literal('setting `REDIS_URL_FRAUD`'),
    ),
    ...fails(
      'a variable unpacked',
      `export const { DATABASE_URL_FRAUD: a } = process.env;`,
      literal('setting `DATABASE_URL_FRAUD`'),
    ),
    ...fails('a limit', `export const a = 'LANE_FRAUD_PERMITS';`, literal('setting `LANE_FRAUD_PERMITS`')),
    ...fails(
      'a row',
      `import { laneTable } from '@/config/lanes'; export const a = laneTable.fraud.datasource.name;`,
      member('row in a table by lane'),
    ),
    ...fails(
      'a row by text',
      `import { laneTable } from '@/config/lanes'; export const a = laneTable['fraud'].bulkhead;`,
      member('row in a table by lane'),
    ),
    ...fails(
      'a row by constant',
      `import { laneTable } from '@/config/lanes'; const lane = 'fraud'; export const a = laneTable[lane];`,
      member('row in a table by lane'),
    ),
    ...fails(
      'a row unpacked',
      `import { settings } from '@/config/settings'; export const { fraud } = settings.lanes;`,
      member('row in a table by lane'),
    ),
    ...fails(
      'any row',
      `import { type Lane, laneTable } from '@/config/lanes'; export const a = (lane: Lane) => laneTable[lane].bulkhead;`,
      finding('row in a table by lane', 'member access', 'the tax lane', 'authorization'),
    ),
    ...fails(
      'settings',
      `import { settings } from '@/config/settings'; export const a = settings.lanes.fraud.databaseUrl;`,
      member('row in a table by lane'),
    ),
    ...fails(
      'a type of a row',
      `import type { laneTable } from '@/config/lanes'; export type A = (typeof laneTable)['fraud'];`,
      member('row in a table by lane'),
    ),
    ...fails(
      'a map',
      `import { poolsByLane } from '@/config/settings'; export const a = poolsByLane.get('fraud');`,
      member('entry in a registry by lane'),
    ),
    ...fails(
      'the registry',
      `import { LaneRegistry } from '@/src/platform/lane-registry'; export const a = new LaneRegistry().find('fraud');`,
      member('entry in a registry by lane'),
    ),
    ...fails(
      'where a client calls',
      `import { settings } from '@/config/settings'; export const a = settings.fraudProvider.url;`,
      member("HTTP client's setting `fraudProvider`"),
    ),
    ...fails(
      'a service that was handed over',
      `import { scorer } from '@/src/roles/all'; export const a = scorer.repository.find();`,
      member('`repository`, code in src/lanes/fraud/fraud.service.ts'),
    ),
  ],
  [
    ...passes(
      'own variable',
      `export const a = [process.env.DATABASE_URL_TAX, process.env['LANE_TAX_PERMITS'], process.env.DATABASE_URL];`,
    ),
    ...passes('own row', `import { laneTable } from '@/config/lanes'; export const a = laneTable.tax.datasource.name;`),
    ...passes('own settings', `import { settings } from '@/config/settings'; export const { tax } = settings.lanes;`),
    ...passes(
      'own entry',
      `import { LaneRegistry } from '@/src/platform/lane-registry'; export const a = new LaneRegistry().find('tax');`,
    ),
    ...passes(
      'a word in another table',
      `export const counts = { fraud: 1, lost: 2 }; export const a = counts.fraud + new Map([['fraud', 1]]).get('fraud')!;`,
    ),
  ],
);
