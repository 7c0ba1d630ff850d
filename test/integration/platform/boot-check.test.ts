import { laneTable } from '../../../config/lanes';
import {
  type BootCheckExpectations,
  checkDatabaseAtBoot,
  DatabaseBootError,
} from '../../../src/platform/database/boot-check';
import { connectLaneDataSource, laneDataSourceOptions } from '../../../src/platform/database/lane-data-source';
import { LaneDatabase } from '../../../src/platform/database/lane-database';
import { noFaults } from '../../../src/platform/faults';
import { systemClock } from '../../../src/platform/system-clock';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

const { datasource } = laneTable.fraud;

describe('the check of a lane’s database at boot', () => {
  let test: TestDatabase;
  let database: LaneDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });

  afterEach(() => database.close());

  async function open(url: string): Promise<LaneDatabase> {
    const connections = 2;
    const dataSource = await connectLaneDataSource(
      laneDataSourceOptions({
        datasource: datasource.name,
        url,
        schema: datasource.schema,
        connections,
        executionMsMax: 10_000,
        entities: [],
      }),
      1_000,
    );
    database = LaneDatabase.of(dataSource, {
      datasource: datasource.name,
      connections,
      connectionWaitMsMax: 250,
      executionMsMax: 10_000,
      clock: systemClock,
      observer: {},
      faults: () => noFaults,
    });
    await database.open();
    return database;
  }

  function expectations(changes: Partial<BootCheckExpectations> = {}): BootCheckExpectations {
    return {
      datasource: datasource.name,
      role: datasource.role,
      schema: datasource.schema,
      foreignSchemas: ['card_auth', 'tax', 'ledger'],
      connectionsTotal: 72,
      migrations: [],
      migrateCommand: 'npm run migrate',
      ...changes,
    };
  }

  async function faultsOf(url: string, changes: Partial<BootCheckExpectations> = {}): Promise<readonly string[]> {
    const error = await checkDatabaseAtBoot(await open(url), expectations(changes)).catch((thrown: unknown) => thrown);
    if (error === undefined) return [];
    expect(error).toBeInstanceOf(DatabaseBootError);
    return (error as DatabaseBootError).faults;
  }

  it('passes where the lane has its own role, its own schema and all its migrations', async () => {
    expect(await faultsOf(test.laneUrl('fraud'))).toEqual([]);
  });

  it('refuses a superuser, who could read every lane [INV-BH-03]', async () => {
    const faults = await faultsOf(test.adminUrl);
    expect(faults.join('\n')).toMatch(/this lane's role is fraud_app/);
    expect(faults.join('\n')).toMatch(/superuser/);
    expect(faults.join('\n')).toMatch(/schema of another lane \(card_auth, ledger, tax\)/);
  });

  it('refuses the role of another lane', async () => {
    const faults = await faultsOf(test.laneUrl('tax'));
    expect(faults).toContainEqual(expect.stringContaining('connected as tax_app'));
    expect(faults).toContainEqual(expect.stringContaining('revoke all on schema tax'));
  });

  it('refuses a server that cannot give all lanes their connections', async () => {
    const faults = await faultsOf(test.laneUrl('fraud'), { connectionsTotal: 100_000 });
    expect(faults).toEqual([expect.stringMatching(/need 100000: raise max_connections by \d+/)]);
  });

  it('refuses a database behind this build, and names what is missing', async () => {
    const faults = await faultsOf(test.laneUrl('fraud'), { migrations: ['NotThere1'] });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('npm run migrate');
  });

  it('says which database cannot be used, and no password, where the login is refused', async () => {
    await open(test.laneUrl('fraud'));
    const url = new URL(test.laneUrl('fraud'));
    url.password = 'guessed-wrongly';
    const options = laneDataSourceOptions({
      datasource: 'fraud_ds',
      url: url.toString(),
      schema: 'fraud',
      connections: 1,
      executionMsMax: 10_000,
      entities: [],
    });
    const startedMs = performance.now();
    const error = await connectLaneDataSource(options).catch((thrown: unknown) => thrown as Error);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    expect(error).toMatchObject({ message: expect.stringMatching(/user fraud_app\) cannot be used/) });
    expect((error as Error).message).not.toContain('guessed-wrongly');
  });

  it('leaves no connection behind when it closes', async () => {
    const opened = await open(test.laneUrl('fraud'));
    await opened.close();
    expect(opened.view().open).toBe(0);
  });
});
