import { withDatabase } from './postgres-client';
import { existingSecrets } from './secrets';
import { serviceFolderCandidates } from './service-folder';
import { POSTGRES_ADMIN, runningPostmaster } from './services/embedded-postgres';
import { PAYMENT_DATABASE } from './setup-database';

/** The administrator's URL of the embedded cluster that runs now; null where none does. */
export function embeddedAdminUrl(dataFolder: string): string | null {
  const secrets = existingSecrets(dataFolder);
  if (secrets === null) return null;
  for (const { postgresData } of serviceFolderCandidates(dataFolder)) {
    const found = runningPostmaster(postgresData);
    if (found === null) continue;
    const server = new URL(`postgres://127.0.0.1:${found.port}/`);
    server.username = POSTGRES_ADMIN;
    server.password = secrets.postgresPassword;
    return withDatabase(server.toString(), PAYMENT_DATABASE);
  }
  return null;
}
