import { spawn } from 'node:child_process';
import { readScriptEnvironment } from '../script-environment';
import type { ServiceUser } from './service-user';

export interface CommandOptions {
  user?: ServiceUser | null;
  env?: NodeJS.ProcessEnv;
  limitMs: number;
  /** `ignore` for a command that leaves a service behind: the service would hold the pipe open. */
  output?: 'capture' | 'ignore' | 'show';
}

export interface CommandResult {
  code: number;
  /** Standard output and error, as they came. */
  output: string;
}

/** What services and set-up commands see of the environment: nothing secret, nothing that changes their behaviour. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const path = readScriptEnvironment().variables['PATH'];
  return { PATH: path ?? '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };
}

/** Runs a command to its end in a session of its own, so that Ctrl-C does not cut it in half. */
export function runCommand(file: string, args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const output = options.output ?? 'capture';
  // What a set-up command says is progress, and progress goes to standard error.
  const shown = output === 'show' ? 2 : 'ignore';
  const child = spawn(file, args, {
    ...(options.user ?? {}),
    cwd: '/',
    env: options.env ?? plainEnvironment(),
    detached: true,
    stdio: output === 'capture' ? ['ignore', 'pipe', 'pipe'] : ['ignore', shown, shown],
  });
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`${file} did not end within ${options.limitMs / 1000} s`));
    }, options.limitMs);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, output: Buffer.concat(chunks).toString('utf8').trim() });
    });
  });
}
