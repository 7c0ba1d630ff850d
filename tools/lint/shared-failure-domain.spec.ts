import { type Example, type FailingExample, finding, inEachPlace, runExamples } from './rule-harness';

/** The same code in a service, a worker, a migration and a health indicator of the tax lane. */
function fails(kind: string, code: string, ...errors: RegExp[]): FailingExample[] {
  return inEachPlace(kind, code).map((example) => ({ ...example, errors }));
}

function passes(kind: string, code: string): Example[] {
  return inEachPlace(kind, code);
}

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: import',
  [
    ...fails(
      'a value',
      `import { FraudRepository } from '@/src/lanes/fraud/fraud.repository'; export const all = new FraudRepository();`,
      finding('repository in src/lanes/fraud/fraud.repository.ts', 'import'),
    ),
    ...fails(
      'a type',
      `import type { Evaluation } from '@/src/lanes/fraud/entities/evaluation.entity'; export type Row = Evaluation;`,
      finding('entity in src/lanes/fraud/entities/evaluation.entity.ts', 'import'),
    ),
    ...fails(
      'a type in place',
      `export type Client = import('@/src/lanes/fraud/fraud.client').FraudClient;`,
      finding('HTTP client in src/lanes/fraud/fraud.client.ts', 'import'),
    ),
    ...fails(
      'an alias that lane-neutral files pass on',
      `import { SCORING_STORE, POOL_SIZE } from '@/src/platform/barrel-of-barrel'; export default [SCORING_STORE, POOL_SIZE];`,
      finding('`FRAUD_STORE`, code in src/lanes/fraud/fraud.service.ts', 'import'),
    ),
    ...fails(
      'a namespace of a lane-neutral file that passes a neighbour on',
      `import * as platform from '@/src/platform/barrel'; export default platform.POOL_SIZE;`,
      finding('src/lanes/fraud/', 'import'),
    ),
    ...fails(
      'an import assignment',
      `import fraud = require('@/src/lanes/fraud/fraud.service'); export default fraud;`,
      finding('code in src/lanes/fraud/fraud.service.ts', 'import'),
    ),
    ...fails(
      'a file that does not exist yet',
      `import '@/src/lanes/fraud/fraud.queue';`,
      finding('src/lanes/fraud/fraud.queue', 'import'),
    ),
    ...fails(
      'another migration or what it exports',
      `import { up } from '@/migrations/fraud/1-evaluations'; export default up;`,
      finding('code in migrations/fraud/1-evaluations.ts', 'import'),
    ),
  ],
  [
    ...passes(
      'own code',
      `import { TaxRepository } from '@/src/lanes/tax/tax.repository'; export default TaxRepository;`,
    ),
    ...passes('lane-neutral code', `import { Clock } from '@/src/platform/clock'; export const clock = new Clock();`),
    ...passes('the rest of a barrel', `import { POOL_SIZE } from '@/src/platform/barrel'; export default POOL_SIZE;`),
    ...passes('a package', `import * as files from 'node:fs'; export default files.constants.F_OK;`),
  ],
);

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: re-export',
  [
    ...fails(
      'by name',
      `export { FraudService as Scorer } from '@/src/lanes/fraud/fraud.service';`,
      finding('code in src/lanes/fraud/fraud.service.ts', 're-export'),
    ),
    ...fails(
      'of a type',
      `export type { Evaluation } from '@/src/lanes/fraud/entities/evaluation.entity';`,
      finding('entity in', 're-export'),
    ),
    ...fails(
      'of everything',
      `export * from '@/src/lanes/fraud/fraud.repository';`,
      finding('repository', 're-export'),
    ),
    ...fails(
      'of everything as a name',
      `export * as fraud from '@/src/lanes/fraud/fraud.repository';`,
      finding('repository in', 're-export'),
    ),
    ...fails(
      'of what a lane-neutral file passes on',
      `export { Scorer } from '@/src/platform/barrel';`,
      finding('`FraudClient`, HTTP client in src/lanes/fraud/fraud.client.ts', 're-export'),
    ),
    ...fails(
      'of all that a lane-neutral file passes on',
      `export * from '@/src/platform/barrel';`,
      finding('src/lanes/fraud/', 're-export'),
    ),
  ],
  [
    ...passes('own code', `export { TaxRepository } from '@/src/lanes/tax/tax.repository';`),
    ...passes('own code, all of it', `export * from '@/src/lanes/tax/entities/quote.entity';`),
    ...passes('lane-neutral code', `export * from '@/src/platform/clock';`),
    ...passes('the rest of a barrel', `export { POOL_SIZE } from '@/src/platform/barrel';`),
  ],
);

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: dynamic import',
  [
    ...fails(
      'import()',
      `export const load = () => import('@/src/lanes/fraud/fraud.service');`,
      finding('code in src/lanes/fraud/fraud.service.ts', 'dynamic import'),
    ),
    ...fails(
      'import() of a constant',
      `const where = '@/src/lanes/fraud/fraud.service' as const; export const load = () => import(where);`,
      finding('code `', 'literal name'),
      finding('code in src/lanes/fraud/fraud.service', 'dynamic import'),
    ),
    ...fails(
      'import() of a lane-neutral file that passes a neighbour on',
      `export const load = async () => (await import('@/src/platform/barrel')).POOL_SIZE;`,
      finding('src/lanes/fraud/', 'dynamic import'),
    ),
    ...fails(
      'require()',
      `export const { FraudClient } = require('@/src/lanes/fraud/fraud.client');`,
      finding('HTTP client in src/lanes/fraud/fraud.client.ts', 'dynamic import'),
    ),
    ...fails(
      'require.resolve()',
      `export const path = require.resolve('@/src/lanes/fraud/fraud.client');`,
      finding('HTTP client in src/lanes/fraud/fraud.client.ts', 'dynamic import'),
    ),
    ...fails(
      'a worker file',
      `export const start = (fork: (file: string) => void) => fork('@/src/lanes/fraud/fraud.worker.js');`,
      finding('code `', 'literal name'),
    ),
  ],
  [
    ...passes('own code', `export const load = () => import('@/src/lanes/tax/tax.repository');`),
    ...passes('own code by require', `export const own = require('@/src/lanes/tax/tax.repository');`),
    ...passes('lane-neutral code', `export const load = () => import('@/src/platform/clock');`),
    ...passes('a name that only running tells', `export const load = (name: string) => import(name);`),
  ],
);

const nest = `import { BullModule, Entity, getDataSourceToken, getQueueToken, Inject, InjectDataSource, InjectQueue, InjectRepository, Processor, Queue, TypeOrmModule, Worker } from '@/src/platform/nest';
export default [BullModule, Entity, getDataSourceToken, getQueueToken, Inject, InjectDataSource, InjectQueue, InjectRepository, Processor, Queue, TypeOrmModule, Worker];
`;
const token = (name: string): RegExp => finding(name, 'injection token');

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: injection token',
  [
    ...fails(
      'Inject',
      `${nest} export class A { constructor(@Inject('fraud_ds') readonly a: unknown) {} }`,
      token('fraud_ds'),
    ),
    ...fails(
      'a token that Nest derives',
      `${nest} export class A { constructor(@Inject('fraud_ds_EvaluationRepository') readonly a: unknown) {} }`,
      token('datasource `fraud_ds`'),
    ),
    ...fails('getDataSourceToken', `${nest} export const a = getDataSourceToken('fraud_ds');`, token('fraud_ds')),
    ...fails(
      'InjectDataSource',
      `${nest} export class A { constructor(@InjectDataSource('fraud_ds') readonly a: unknown) {} }`,
      token('fraud_ds'),
    ),
    ...fails(
      'InjectRepository',
      `${nest} import { Quote } from '@/src/lanes/tax/entities/quote.entity';
      export class A { constructor(@InjectRepository(Quote, 'fraud_ds') readonly a: unknown) {} }`,
      token('fraud_ds'),
    ),
    ...fails('forFeature', `${nest} export const a = TypeOrmModule.forFeature([], 'fraud_ds');`, token('fraud_ds')),
    ...fails(
      'registerQueue',
      `${nest} export const a = BullModule.registerQueue({ name: 'fraud-overflow' });`,
      token('queue `fraud-overflow`'),
    ),
    ...fails('getQueueToken', `${nest} export const a = getQueueToken('fraud-overflow');`, token('fraud-overflow')),
    ...fails(
      'InjectQueue',
      `${nest} export class A { @InjectQueue('fraud-overflow') readonly a: unknown; }`,
      token('fraud-overflow'),
    ),
    ...fails('Processor', `${nest} @Processor({ name: 'fraud-overflow' }) export class A {}`, token('fraud-overflow')),
    ...fails(
      'a constant from elsewhere',
      `${nest} import { FRAUD_SOURCE } from '@/config/names';
      export class A { constructor(@Inject(FRAUD_SOURCE) readonly a: unknown) {} }`,
      token('datasource `fraud_ds`'),
    ),
    ...fails(
      'a template that resolves',
      `${nest} import { FRAUD_SOURCE } from '@/config/names'; export const a = { inject: [\`\${FRAUD_SOURCE}DataSource\`] };`,
      token('datasource `fraud_ds`'),
    ),
    ...fails(
      'a function with a literal answer',
      `${nest} import { fraudQueueName } from '@/config/names'; export const a = getQueueToken(\`\${fraudQueueName()}\`);`,
      token('queue `fraud-overflow`'),
    ),
    ...fails(
      'a token made of the lane',
      `import { laneRedisToken } from '@/src/platform/nest'; export const a = { inject: [laneRedisToken('fraud')] };`,
      token('token of the lane'),
    ),
    ...fails(
      'a string that a neighbour alone provides',
      `${nest} export class A { constructor(@Inject('SCORING_CLIENT') readonly a: unknown) {} }`,
      token('SCORING_CLIENT'),
    ),
    ...fails(
      'a symbol that a neighbour declares',
      `${nest} import { FRAUD_STORE } from '@/src/lanes/fraud/fraud.service';
      export class A { constructor(@Inject(FRAUD_STORE) readonly a: unknown) {} }`,
      finding('src/lanes/fraud/fraud.service.ts', 'import'),
    ),
  ],
  [
    ...passes(
      'own datasource',
      `${nest} export class A { constructor(@InjectDataSource('tax_ds') readonly a: unknown) {} }`,
    ),
    ...passes('own queue', `${nest} @Processor('tax-reconciliation') export class A {}`),
    ...passes(
      'own name by constant',
      `${nest} import { TAX_SOURCE } from '@/config/names'; export const a = getDataSourceToken(TAX_SOURCE);`,
    ),
    ...passes(
      'a token made of the own lane',
      `import { laneRedisToken } from '@/src/platform/nest'; export const a = { inject: [laneRedisToken('tax')] };`,
    ),
    ...passes(
      'a token that each lane provides for itself',
      `${nest} export class A { constructor(@Inject('LANE_STORE') readonly a: unknown) {} }`,
    ),
    ...passes(
      'a token that nobody is known to provide',
      `${nest} export class A { constructor(@Inject('CLOCK') readonly a: unknown) {} }`,
    ),
  ],
);
