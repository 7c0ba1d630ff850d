import { existsSync, readFileSync } from 'node:fs';
import { type Certificate, sha256Of } from '../../src/lanes/tax/compensation/certificate';
import { standingOf } from '../../src/lanes/tax/compensation/certificate-watch';
import { readCompensationFiles } from '../../src/lanes/tax/compensation/compensation-files';
import { verifyCompensation } from '../../src/lanes/tax/compensation/verify-compensation';
import { say } from '../setup/report';
import { SetupError } from '../setup/setup-error';
import { runCommand } from './command';
import { compensationPaths, taxFolder } from './places';

/**
 * `npm run compensation:verify`: what a tax process asks at its start, asked before one is made (continuous integration,
 * image build). It fails where the table has no certificate of its own; time only makes it warn.
 */
async function verify(): Promise<void> {
  const verification = verifyCompensation(readCompensationFiles(taxFolder));
  if (!verification.accepted) throw new SetupError(verification.rejection);
  const { certificate, table } = verification;
  for (const warning of warningsOf(certificate)) say(`warning: ${warning}`);
  say(`${certificate.id} is of this table (${table.size} rows), until ${certificate.expires_at}`);
}

function warningsOf(certificate: Certificate): string[] {
  const { expires_at: expiresAt, expires_because: because } = certificate;
  const standing = standingOf(expiresAt, Date.now());
  const warnings: string[] = [];
  if (standing === 'expired') warnings.push(`it expired at ${expiresAt} (${because}), so there are no estimates`);
  if (standing === 'expiring') warnings.push(`it expires at ${expiresAt} (${because})`);
  const certified = { authority: certificate.authority_sha256, simulator: certificate.simulator_sha256 };
  for (const name of ['authority', 'simulator'] as const) {
    // An image holds neither: they serve certification, not the lane.
    if (!existsSync(compensationPaths[name]) || sha256Of(readFileSync(compensationPaths[name])) === certified[name]) {
      continue;
    }
    warnings.push(`the ${name} has changed since: \`npm run compensation:certify\` says whether the table still holds`);
  }
  return warnings;
}

runCommand(verify);
