import { parseArgs } from 'node:util';
import { SCOPES } from './tokens';

export interface TokenArguments {
  subject: string;
  scopes: string[];
  merchants: '*' | string[];
  expiresInSeconds: number;
}

export const tokenUsage = `Usage: npm run -s token -- --subject NAME --scope SCOPE[,SCOPE…] [--merchants ID[,ID…]] [--expires-in TIME]

  --subject     who calls, for instance checkout
  --scope       one or more of ${SCOPES.join(', ')}
  --merchants   whose objects the caller may touch; every merchant's if left out
  --expires-in  60s, 30m, 1h (the usual), 7d; at most 30d`;

/** What is wrong with the arguments, for whoever typed them. */
export class TokenArgumentsError extends Error {}

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;
const EXPIRES_IN_SECONDS_MAX = 30 * SECONDS.d;
const PRINTABLE = /^[\x21-\x7e]{1,128}$/;

export function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

/** @throws TokenArgumentsError */
export function parseTokenArguments(args: readonly string[]): TokenArguments {
  const { subject, scope, merchants, 'expires-in': expiresIn } = optionsOf(args);
  if (subject === undefined || !PRINTABLE.test(subject)) {
    throw new TokenArgumentsError('--subject is needed: 1 to 128 printable characters without spaces');
  }
  const scopes = list(scope ?? '');
  if (scopes.length === 0) throw new TokenArgumentsError('--scope is needed');
  const unknown = scopes.filter((name) => !SCOPES.includes(name));
  if (unknown.length > 0) throw new TokenArgumentsError(`There is no scope ${unknown.join(', ')}`);
  return {
    subject,
    scopes: [...new Set(scopes)],
    merchants: merchantsOf(merchants ?? '*'),
    expiresInSeconds: secondsOf(expiresIn ?? '1h'),
  };
}

function optionsOf(args: readonly string[]): Partial<Record<'subject' | 'scope' | 'merchants' | 'expires-in', string>> {
  const option = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: { subject: option, scope: option, merchants: option, 'expires-in': option },
    }).values;
  } catch (error) {
    throw new TokenArgumentsError((error as Error).message, { cause: error });
  }
}

function list(text: string): string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '');
}

function merchantsOf(text: string): '*' | string[] {
  if (text.trim() === '*') return '*';
  const merchants = list(text);
  if (merchants.length === 0 || merchants.some((id) => !PRINTABLE.test(id) || id === '*')) {
    throw new TokenArgumentsError('--merchants is * or a list such as mer_demo_0001,mer_demo_0002');
  }
  return [...new Set(merchants)];
}

function secondsOf(text: string): number {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const seconds = match === null ? 0 : Number(match[1]) * SECONDS[match[2] as keyof typeof SECONDS];
  if (seconds >= 1 && seconds <= EXPIRES_IN_SECONDS_MAX) return seconds;
  throw new TokenArgumentsError('--expires-in is a number with s, m, h or d, at most 30d');
}
