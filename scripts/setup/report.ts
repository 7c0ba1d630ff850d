/** Progress and faults go to standard error: standard output belongs to what a script is asked for. */
export function say(line: string): void {
  process.stderr.write(`payment-core: ${line}\n`);
}

const QUIET_MS = 300;
const REMINDER_MS = 10_000;

/** Runs a step and says so where it takes long enough for anybody to wonder. */
export async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const seconds = (): string => ((performance.now() - started) / 1_000).toFixed(1);
  let said = false;
  const tell = (): void => {
    say(said ? `${name} … ${seconds()} s` : `${name} …`);
    said = true;
  };
  const first = setTimeout(tell, QUIET_MS);
  const reminders = setInterval(tell, REMINDER_MS);
  try {
    const result = await work();
    if (said) say(`${name}: done in ${seconds()} s`);
    return result;
  } finally {
    clearTimeout(first);
    clearInterval(reminders);
  }
}
