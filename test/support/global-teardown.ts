import { endRun } from './run-folder';

/** Ends the PostgreSQL, Redis and servers of all workers of this run. */
export default function globalTeardown(): void {
  endRun();
}
