import type { ClientBase } from 'pg';
import type { LanePlace } from './provision';

interface Login {
  name: string;
  superuser: boolean;
  creates_roles: boolean;
  creates_schemas: boolean;
}

/** What this login would need to set these lanes up and cannot do, as sentences with the statement that mends it. */
export async function missingRights(client: ClientBase, places: readonly LanePlace[]): Promise<string[]> {
  const { rows } = await client.query<Login>(
    `select rolname as name, rolsuper as superuser, rolcreaterole as creates_roles,
            has_database_privilege(current_database(), 'create') as creates_schemas
       from pg_roles where rolname = current_user`,
  );
  const login = rows[0];
  if (login === undefined || login.superuser) return [];
  const missing: string[] = [];
  if (!login.creates_roles) {
    const roles = places.flatMap(({ datasource }) => [datasource.ownerRole, datasource.role]).join(', ');
    missing.push(`it may not create or alter roles (${roles}): ALTER ROLE ${login.name} CREATEROLE`);
  }
  if (!login.creates_schemas) {
    const schemas = places.map(({ datasource }) => datasource.schema).join(', ');
    missing.push(
      `it may not create schemas (${schemas}): GRANT CREATE ON DATABASE <the payment database> TO ${login.name}`,
    );
  }
  return missing;
}
