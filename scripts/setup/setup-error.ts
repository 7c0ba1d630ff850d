import { SettingsError } from '../../config/environment';

/** Something a person has to act on: the scripts print its message alone, without a stack. */
export class SetupError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SetupError';
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const DENIED: readonly (string | undefined)[] = ['EACCES', 'EPERM', 'EROFS'];

/** Where the system does not let this user touch a file: the file; null for anything else. */
export function deniedPath(error: unknown): string | null {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  return DENIED.includes(code) ? (path ?? null) : null;
}

/** What a script prints of an error: a stack only where there is nothing that a person could do. */
export function describeFault(error: unknown): string {
  if (error instanceof SetupError || error instanceof SettingsError) return error.message;
  const denied = deniedPath(error);
  if (denied !== null) return notAllowed(denied);
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

export function notAllowed(path: string): string {
  return (
    `This user may not touch ${path}. Run this as the user to whom it belongs, or use a data folder of your own ` +
    '(PAYMENT_DATA_DIR=~/payment-core-data npm start) or a clone of your own.'
  );
}
