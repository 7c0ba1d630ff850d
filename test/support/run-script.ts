import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { projectRoot } from '../../scripts/setup/project';

/** Runs a shell script of the project to its end. @returns its exit code and all that it wrote. */
export async function runScript(
  script: string,
  options: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const child = spawn('sh', [script, ...options], { cwd: projectRoot, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code));
  });
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, output: output + errors };
}
