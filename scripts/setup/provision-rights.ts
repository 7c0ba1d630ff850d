import type { ClientBase } from 'pg';
import type { LanePlace } from './lane-place';

interface Login {
  database: string;
  name: string;
  superuser: boolean;
  creates_roles: boolean;
  creates_schemas: boolean;
}

/** What this login would need to set these lanes up and cannot do, as sentences with the statement that mends it. */
export async function missingRights(client: ClientBase, places: readonly LanePlace[]): Promise<string[]> {
  const { rows } = await client.query<Login>(
    `select current_database() as database, rolname as name, rolsuper as superuser, rolcreaterole as creates_roles,
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
    missing.push(`it may not create schemas (${schemas}): GRANT CREATE ON DATABASE ${login.database} TO ${login.name}`);
  }
  const foreign = await rolesOfOthers(client, places);
  if (foreign.length > 0) {
    const names = foreign.join(', ');
    missing.push(`roles that another login created are not its own: GRANT ${names} TO ${login.name} WITH ADMIN OPTION`);
  }
  return missing;
}

/** Roles that are there already and that this login does not administer. */
async function rolesOfOthers(client: ClientBase, places: readonly LanePlace[]): Promise<string[]> {
  const names = places.flatMap(({ datasource }) => [datasource.ownerRole, datasource.role]);
  const { rows } = await client.query<{ name: string }>(
    `select rolname as name from pg_roles
      where rolname = any($1::text[]) and not pg_has_role(current_user, oid, 'member with admin option')
      order by rolname`,
    [names],
  );
  return rows.map(({ name }) => name);
}
