import { runCommand } from './command';

const interrupt = new AbortController();
process.once('SIGINT', () => interrupt.abort());
process.once('SIGTERM', () => interrupt.abort());

void runCommand(process.argv.slice(2), {
  out: (text) => console.log(text),
  err: (text) => console.error(text),
  signal: interrupt.signal,
}).then((code) => {
  process.exitCode = code;
});
