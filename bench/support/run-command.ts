import { type Closing, runBenchmark } from './closing';
import { OptionError } from './options';

/** A benchmark as a command: what its options ask for, or its usage where they ask for help or cannot be followed. */
export function runCommand<Options>(
  usage: string,
  readOptions: (argv: readonly string[]) => Options | null,
  work: (options: Options, closing: Closing) => Promise<number>,
): void {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === null) console.log(usage);
    else void runBenchmark((closing) => work(options, closing));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 1;
  }
}
