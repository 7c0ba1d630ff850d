import { say } from './setup/report';
import { readScriptEnvironment } from './setup/script-environment';
import { ensureSecrets } from './setup/secrets';
import { describeFault } from './setup/setup-error';
import { asksForHelp, parseTokenArguments, TokenArgumentsError, tokenUsage } from './setup/token-arguments';
import { signToken } from './setup/tokens';

/** Prints a caller's token, and nothing else, to standard output. */
async function token(): Promise<void> {
  const args = process.argv.slice(2);
  if (asksForHelp(args)) {
    process.stdout.write(`${tokenUsage}\n`);
    return;
  }
  const claims = parseTokenArguments(args);
  const { dataFolder, jwtIssuer: issuer, jwtAudience: audience } = readScriptEnvironment();
  const { signingKey } = await ensureSecrets(dataFolder);
  process.stdout.write(`${await signToken(signingKey.privateJwk, { ...claims, issuer, audience })}\n`);
}

token().catch((error: unknown) => {
  if (error instanceof TokenArgumentsError) {
    process.stderr.write(`${error.message}\n\n${tokenUsage}\n`);
    process.exitCode = 2;
  } else {
    say(describeFault(error));
    process.exitCode = 1;
  }
});
