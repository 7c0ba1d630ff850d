import type { LaneSpecification } from '../../config/lanes';

/** The lane table as the rule reads it; it takes any table, so that a new lane needs no change here. */
export type LaneTable = Readonly<Record<string, LaneSpecification>>;

/** Something that belongs to one lane and that a text names. */
export interface NamedResource {
  readonly lane: string;
  readonly kind: 'datasource' | 'bulkhead' | 'queue' | 'database role' | 'schema' | 'setting' | 'code';
  readonly name: string;
}

type NameOwner = Pick<NamedResource, 'lane' | 'kind'>;

/** Names of resources and the lanes that own them, taken from the lane table and from nowhere else. */
export class LaneNames {
  readonly lanes: readonly string[];
  private readonly owners = new Map<string, NameOwner>();
  private readonly lanesBySchema = new Map<string, string>();
  private readonly namePattern: RegExp;
  private readonly settingPattern: RegExp;
  private readonly pathPattern: RegExp;

  constructor(private readonly table: LaneTable) {
    this.lanes = Object.keys(table);
    for (const [lane, row] of Object.entries(table)) {
      this.owners.set(row.datasource.name, { lane, kind: 'datasource' });
      this.owners.set(row.datasource.role, { lane, kind: 'database role' });
      this.owners.set(row.datasource.ownerRole, { lane, kind: 'database role' });
      this.owners.set(row.bulkhead.name, { lane, kind: 'bulkhead' });
      if (row.readBulkhead !== null) this.owners.set(row.readBulkhead.name, { lane, kind: 'bulkhead' });
      for (const queue of row.queues) this.owners.set(queue.name, { lane, kind: 'queue' });
      this.lanesBySchema.set(row.datasource.schema.toLowerCase(), lane);
    }
    const names = alternatives([...this.owners.keys()]);
    // Nest derives tokens from names: `fraud_dsDataSource`, `fraud_ds_EvaluationRepository`, `BullQueue_fraud-overflow`.
    this.namePattern = new RegExp(
      `(?<=^|[^\\w-]|\\bBull(?:Queue|FlowProducer)_)(${names})(?=$|[^\\w-]|DataSource\\b|EntityManager\\b|_\\w*Repository\\b)`,
      'g',
    );
    const upper = alternatives(this.lanes.map((lane) => lane.toUpperCase()));
    this.settingPattern = new RegExp(
      `\\b(?:(?:DATABASE|REDIS)_URL_(${upper})|LANE_(${upper})_[A-Z_]+|(${upper})_PROVIDER_[A-Z_]+)\\b`,
      'g',
    );
    this.pathPattern = new RegExp(
      `(?:^(?:\\./)?lanes|(?:^|/)(?:src/lanes|migrations))/(${alternatives(this.lanes)})(?=/|$)`,
    );
  }

  /** Whether `lane` may run the jobs of `queue`, which another lane owns. */
  consumes(lane: string, queue: string): boolean {
    return this.table[lane]?.consumes.includes(queue) ?? false;
  }

  laneOfSchema(schema: string): string | undefined {
    return this.lanesBySchema.get(schema.toLowerCase());
  }

  schemaAlternatives(): string {
    return alternatives([...this.lanesBySchema.keys()]);
  }

  /** Datasources, roles, bulkheads and queues that stand in a text as whole words. */
  namedIn(text: string): NamedResource[] {
    return [...text.matchAll(this.namePattern)].flatMap(([, name = '']) => {
      const owner = this.owners.get(name);
      return owner === undefined ? [] : [{ ...owner, name }];
    });
  }

  /** Environment names that belong to one lane (contract 3). */
  settingsIn(text: string): NamedResource[] {
    return [...text.matchAll(this.settingPattern)].map(([name, ...lanes]) => ({
      lane: (lanes.find((lane) => lane !== undefined) ?? '').toLowerCase(),
      kind: 'setting',
      name,
    }));
  }

  /** Folders of a lane named by path, as in `entities: ['src/lanes/fraud/entities/*.ts']`. */
  folderIn(text: string): NamedResource | null {
    const lane = this.pathPattern.exec(text)?.[1];
    return lane === undefined ? null : { lane, kind: 'code', name: text };
  }
}

function alternatives(words: readonly string[]): string {
  const longestFirst = [...words].sort((left, right) => right.length - left.length);
  return longestFirst.map((word) => word.replaceAll(/\W/g, '\\$&')).join('|');
}
