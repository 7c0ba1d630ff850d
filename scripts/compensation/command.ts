import { say } from '../setup/report';
import { describeFault } from '../setup/setup-error';
import { CertificationRefused } from './certification';

/** Runs a command's work; what a person can mend is told without a stack, and the exit code is 1. */
export function runCommand(work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    say(error instanceof CertificationRefused ? error.message : describeFault(error));
    process.exitCode = 1;
  });
}
