import { type Example, finding, inEachPlace, runExamples } from './rule-harness';

const nest = `import { getQueueToken, InjectQueue, Processor, Queue, Worker } from '@/src/platform/nest';
export default [getQueueToken, InjectQueue, Processor, Queue, Worker];
`;
const consumer = 'src/lanes/ledger/settlement.processor.ts';
const settlement = 'queue `authorization-settlement`';

function beyondConsuming(way: string): RegExp {
  const found = finding(settlement, way, 'the ledger lane', 'authorization');
  return new RegExp(found.source.replace(' .*BullMQ', ' `consumes` .*not add.*BullMQ'));
}

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: queues that a lane consumes',
  [
    {
      name: 'adding to it through Nest',
      file: consumer,
      code: `${nest} export class A { @InjectQueue('authorization-settlement') readonly queue: unknown; }`,
      errors: [beyondConsuming('injection token')],
    },
    {
      name: 'adding to it by a constant of the same file',
      file: consumer,
      code: `${nest} const NAME = 'authorization-settlement'; export const a = getQueueToken(NAME);`,
      errors: [beyondConsuming('injection token')],
    },
    {
      name: 'adding to it with BullMQ',
      file: consumer,
      code: `${nest} export const a = new Queue('authorization-settlement');`,
      errors: [beyondConsuming('literal name')],
    },
    {
      name: 'adding to it through a flow',
      file: consumer,
      code: `export const a = (flow: { add(job: object): void }) => flow.add({ queueName: 'authorization-settlement' });`,
      errors: [beyondConsuming('literal name')],
    },
    {
      name: 'another queue of the same lane',
      file: consumer,
      code: `${nest} @Processor('authorization-expiry') export class A {}`,
      errors: [finding('queue `authorization-expiry`', 'injection token', 'the ledger lane', 'authorization')],
    },
    ...inEachPlace(
      'a lane that does not consume it',
      `${nest} @Processor('authorization-settlement') export class A {}`,
    ).map((example) => ({
      ...example,
      errors: [finding(settlement, 'injection token', 'the tax lane', 'authorization')],
    })),
  ],
  [
    {
      name: 'running its jobs with Nest',
      file: consumer,
      code: `${nest} @Processor('authorization-settlement') export class A {}`,
    },
    {
      name: 'running its jobs with BullMQ',
      file: consumer,
      code: `${nest} export const a = new Worker('authorization-settlement');`,
    },
    { name: 'naming it', file: consumer, code: `export const NAME = 'authorization-settlement';` },
    { name: 'adding to its own', file: consumer, code: `${nest} export const a = new Queue('ledger-batch');` },
  ],
);

const neutralFiles = [
  'src/operator/health.ts',
  'src/platform/pool.ts',
  'src/shared/money.ts',
  'src/lanes/lane.module.ts',
];
const freeFiles = [
  'src/roles/all.ts',
  'migrations/index.ts',
  'config/names.ts',
  'scripts/reset.ts',
  'src/lanes/tax/tax.service.test.ts',
];

function inNeutral(kind: string, code: string, what: string, way: string) {
  return neutralFiles.map((file) => ({
    name: `${kind} in ${file}`,
    file,
    code,
    errors: [finding(what, way, `lane-neutral ${file.replaceAll('.', '\\.')}`)],
  }));
}

const everything = `${nest} import { FraudService } from '@/src/lanes/fraud/fraud.service'; import { laneTable } from '@/config/lanes';
export * from '@/src/lanes/fraud/fraud.repository'; export const load = () => import('@/src/lanes/fraud/fraud.client');
export const a = [getQueueToken('fraud-overflow'), 'fraud_ds', 'select 1 from fraud.evaluations', laneTable.fraud, FraudService];`;

function everywhere(kind: string, files: readonly string[], code: string): Example[] {
  return files.map((file) => ({ name: `${kind} in ${file}`, file, code }));
}

runExamples(
  'ERR_SHARED_FAILURE_DOMAIN_DETECTED: lane-neutral code, composers and tests',
  [
    ...inNeutral(
      'an import',
      `import { FraudService } from '@/src/lanes/fraud/fraud.service'; export default FraudService;`,
      'code in src/lanes/fraud/fraud.service.ts',
      'import',
    ),
    ...inNeutral(
      'a re-export',
      `export * from '@/src/lanes/fraud/fraud.service';`,
      'code in src/lanes/fraud/fraud.service.ts',
      're-export',
    ),
    ...inNeutral(
      'a dynamic import',
      `export const a = () => import('@/src/lanes/fraud/fraud.service');`,
      'code in src/lanes/fraud/fraud.service.ts',
      'dynamic import',
    ),
    ...inNeutral(
      'a token',
      `${nest} export const a = getQueueToken('fraud-overflow');`,
      'queue `fraud-overflow`',
      'injection token',
    ),
    ...inNeutral(
      'a literal',
      `export const a = 'select 1 from fraud.evaluations';`,
      'schema `fraud.evaluations`',
      'literal name',
    ),
    ...inNeutral(
      'a registry',
      `import { LaneRegistry } from '@/src/platform/lane-registry'; export const a = new LaneRegistry().find('fraud');`,
      'entry in a registry by lane',
      'member access',
    ),
    {
      name: 'demo data of a lane',
      file: 'scripts/setup/demo/tax.ts',
      code: `export const a = 'insert into fraud.evaluations (id) values (1)';`,
      errors: [finding('schema `fraud.evaluations`', 'literal name')],
    },
  ],
  [
    ...everywhere('everything', freeFiles, everything),
    ...everywhere(
      'what is given',
      neutralFiles,
      `import { LaneRegistry } from '@/src/platform/lane-registry'; import { type Lane, laneTable } from '@/config/lanes';
      export const a = (registry: LaneRegistry, lane: Lane) => [registry.find(lane), laneTable[lane].bulkhead, laneTable[lane].queues[0]];`,
    ),
    {
      name: 'own demo data',
      file: 'scripts/setup/demo/tax.ts',
      code: `export const a = 'insert into tax.quotes (id) values (1)';`,
    },
  ],
);
