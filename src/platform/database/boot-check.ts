import type { StatementRunner } from './statement';
import { sqlStateOf } from './driver-errors';

export interface BootCheckExpectations {
  readonly datasource: string;
  readonly role: string;
  readonly schema: string;
  /** Schemas of the other lanes; the role must be able to use none of them [INV-BH-03]. */
  readonly foreignSchemas: readonly string[];
  /** Connections that the server must be able to give to all lanes, replicas and surge together. */
  readonly connectionsTotal: number;
  /** Names of the migrations that this build knows, as TypeORM stores them. */
  readonly migrations: readonly string[];
  /** What applies missing migrations. */
  readonly migrateCommand: string;
}

interface Standing {
  role: string;
  superuser: boolean;
  bypasses_row_security: boolean;
  usable_schemas: string[];
  connections_max: number;
}

/** The database is not what this lane needs; each line says what is wrong and what would mend it. */
export class DatabaseBootError extends Error {
  override readonly name = 'DatabaseBootError';

  constructor(
    datasource: string,
    readonly faults: readonly string[],
  ) {
    super(`${datasource} is not usable, so nothing was started:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
  }
}

const standingStatement = {
  name: 'boot_check_standing',
  text: `select current_user::text as role,
                r.rolsuper as superuser,
                r.rolbypassrls as bypasses_row_security,
                coalesce((select array_agg(n.nspname::text order by n.nspname)
                            from pg_namespace n
                           where n.nspname = any($1::text[])
                             and (has_schema_privilege(n.oid, 'USAGE') or has_schema_privilege(n.oid, 'CREATE'))),
                         '{}') as usable_schemas,
                current_setting('max_connections')::int
                  - current_setting('superuser_reserved_connections')::int
                  - current_setting('reserved_connections')::int as connections_max
           from pg_roles r
          where r.rolname = current_user`,
};

/**
 * Whether the lane stands on its own ground (contract 12): its role and no other, no other lane's schema, room for
 * everybody's connections, and the tables that this build expects.
 *
 * @throws DatabaseBootError with every fault found.
 */
export async function checkDatabaseAtBoot(store: StatementRunner, expected: BootCheckExpectations): Promise<void> {
  const [standing] = await store.query<Standing>(standingStatement, [expected.foreignSchemas]);
  if (!standing) throw new DatabaseBootError(expected.datasource, ['the server does not say who is connected']);
  const faults: string[] = [];
  if (standing.role !== expected.role) {
    faults.push(`connected as ${standing.role}, but this lane's role is ${expected.role}: correct the database URL`);
  }
  if (standing.superuser || standing.bypasses_row_security) {
    faults.push(
      `${standing.role} is a superuser or bypasses row security: give the lane its own role ${expected.role}`,
    );
  }
  if (standing.usable_schemas.length > 0) {
    const schemas = standing.usable_schemas.join(', ');
    faults.push(
      `${standing.role} can use the schema of another lane (${schemas}): ` +
        `revoke all on schema ${schemas} from ${standing.role}, and from public`,
    );
  }
  if (standing.connections_max < expected.connectionsTotal) {
    faults.push(
      `the server gives ${standing.connections_max} connections and all lanes together need ` +
        `${expected.connectionsTotal}: raise max_connections by ${expected.connectionsTotal - standing.connections_max}`,
    );
  }
  faults.push(...(await missingMigrations(store, expected)));
  if (faults.length > 0) throw new DatabaseBootError(expected.datasource, faults);
}

async function missingMigrations(store: StatementRunner, expected: BootCheckExpectations): Promise<string[]> {
  const { migrations, schema, migrateCommand } = expected;
  if (migrations.length === 0) return [];
  const text = `select name from "${schema.replaceAll('"', '""')}"."migrations"`;
  try {
    const rows = await store.query<{ name: string }>({ name: 'boot_check_migrations', text }, []);
    const applied = new Set(rows.map(({ name }) => name));
    const missing = migrations.filter((name) => !applied.has(name));
    if (missing.length === 0) return [];
    return [`migrations not applied: ${missing.join(', ')}; run ${migrateCommand}`];
  } catch (error) {
    const state = sqlStateOf(error);
    if (state === '42P01' || state === '3F000') return [`${schema} holds no tables yet; run ${migrateCommand}`];
    if (state === '42501') {
      return [`${expected.role} may not read ${schema}.migrations; run ${migrateCommand}, which grants it`];
    }
    throw error;
  }
}
