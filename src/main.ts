import 'reflect-metadata';
import { readProcessSettings, SettingsError } from '../config/environment';
import { productVersion } from '../config/version';
import { DatabaseBootError } from './platform/database/boot-check';
import { StartRefusal } from './platform/start-refusal';
import { runProcess } from './roles/process';

/** Faults that a person mends: their message says how, and a stack would hide it. */
function isPlain(error: unknown): error is Error {
  return error instanceof SettingsError || error instanceof DatabaseBootError || error instanceof StartRefusal;
}

async function main(): Promise<void> {
  await runProcess(readProcessSettings(productVersion()));
}

main().catch((error: unknown) => {
  const said = isPlain(error) ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${said}\n`, () => process.exit(1));
});
