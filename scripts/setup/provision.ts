import { type ClientBase, escapeIdentifier, escapeLiteral } from 'pg';
import type { LanePlace } from './lane-place';
import { databaseOf, sqlState, withClient, withDatabase, withSetupLock } from './postgres-client';
import { missingRights } from './provision-rights';
import { SetupError } from './setup-error';

export interface ProvisionOptions {
  /** An administrator's URL, the payment database in its path. */
  adminUrl: string;
  places: readonly LanePlace[];
  /** True where the server is payment-core's alone, so that its other databases may be closed to the lanes too. */
  dedicatedServer: boolean;
}

/**
 * Creates the database, and for each lane its schema, its owner role (which cannot log in) and its own login: a role
 * that sees one schema and may hold so many connections (contract 12). Run again, it changes nothing but limits and
 * passwords.
 */
export async function provision(options: ProvisionOptions): Promise<void> {
  await ensureDatabase(options.adminUrl);
  await withSetupLock(options.adminUrl, async (client) => {
    const missing = await missingRights(client, options.places);
    if (missing.length > 0) throw new SetupError(explain(options.adminUrl, missing));
    await closeDatabase(client, databaseOf(options.adminUrl));
    for (const place of options.places) await provisionLane(client, place, databaseOf(options.adminUrl));
  });
  if (options.dedicatedServer) await closeOtherDatabases(options.adminUrl);
}

function explain(adminUrl: string, missing: readonly string[]): string {
  const { username, host } = new URL(adminUrl);
  const steps = missing.map((line) => `  - ${line}`).join('\n');
  return `The database login '${decodeURIComponent(username)}' on ${host} cannot set the lanes up:\n${steps}`;
}

async function ensureDatabase(adminUrl: string): Promise<void> {
  try {
    await withClient(adminUrl, () => Promise.resolve());
    return;
  } catch (error) {
    if (sqlState(error) !== '3D000') throw error;
  }
  const database = databaseOf(adminUrl);
  await withClient(withDatabase(adminUrl, 'postgres'), async (client) => {
    try {
      await client.query(`create database ${escapeIdentifier(database)}`);
    } catch (error) {
      if (sqlState(error) === '42501') {
        throw new SetupError(
          `The database ${database} does not exist, and this login may not create it: CREATE DATABASE ${database}`,
          { cause: error },
        );
      }
      // Another set-up was quicker.
      if (sqlState(error) !== '42P04' && sqlState(error) !== '23505') throw error;
    }
  });
}

/** Whatever a new PostgreSQL lets everybody do, nobody may: connect, make temporary tables, use the schema `public`. */
export async function closeDatabase(client: ClientBase, database: string): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(
    `select pg_has_role(datdba, 'usage') as may from pg_database where datname = current_database()`,
  );
  if (rows[0]?.may !== true) return;
  await client.query(`revoke all on database ${escapeIdentifier(database)} from public`);
  await client.query('revoke all on schema public from public');
}

async function closeOtherDatabases(adminUrl: string): Promise<void> {
  for (const database of ['postgres', 'template1']) {
    await withClient(withDatabase(adminUrl, 'postgres'), (client) =>
      client.query(`revoke all on database ${escapeIdentifier(database)} from public`),
    );
  }
}

async function provisionLane(client: ClientBase, place: LanePlace, database: string): Promise<void> {
  const { role, ownerRole, schema } = place.datasource;
  const names = { role: escapeIdentifier(role), owner: escapeIdentifier(ownerRole), schema: escapeIdentifier(schema) };
  await ensureRole(client, ownerRole, 'nologin');
  await ensureRole(client, role, 'login');
  // Since PostgreSQL 16 whoever creates a role administers it, but acts as it only after this.
  if (!(await mayActAs(client, ownerRole))) await client.query(`grant ${names.owner} to current_user`);
  await client.query(
    `alter role ${names.role} connection limit ${place.connectionLimit} password ${escapeLiteral(place.password)}`,
  );
  await client.query(`alter role ${names.role} set search_path = ${names.schema}`);
  await allowConnect(client, role, database);

  await client.query(`create schema if not exists ${names.schema} authorization ${names.owner}`);
  await client.query(`revoke all on schema ${names.schema} from public`);
  await client.query(`grant usage on schema ${names.schema} to ${names.role}`);
  // Each migration grants what its lane needs, and nothing comes by default.
  await client.query(`alter default privileges for role ${names.owner} revoke execute on functions from public`);
  await client.query(`alter default privileges for role ${names.owner} revoke usage on types from public`);
}

/** Grants on a database are not copied from its template, so that a copy needs this again. */
export async function allowConnect(client: ClientBase, role: string, database: string): Promise<void> {
  await client.query(`grant connect on database ${escapeIdentifier(database)} to ${escapeIdentifier(role)}`);
}

async function mayActAs(client: ClientBase, role: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean }>(`select pg_has_role(current_user, $1, 'usage') as may`, [role]);
  return rows[0]?.may === true;
}

async function ensureRole(client: ClientBase, role: string, login: 'login' | 'nologin'): Promise<void> {
  const { rows } = await client.query<{ powers: boolean }>(
    `select rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls as powers
       from pg_roles where rolname = $1`,
    [role],
  );
  if (rows[0]?.powers === true) {
    throw new SetupError(
      `The role ${role} exists with powers that no lane may have: ` +
        `ALTER ROLE ${role} NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS`,
    );
  }
  if (rows.length > 0) return;
  const name = escapeIdentifier(role);
  await client.query(`create role ${name} ${login} nosuperuser nocreatedb nocreaterole noinherit noreplication`);
}
