import { parseArgs, type ParseArgsConfig } from 'node:util';

/** p99 of the generator's own lag beyond which a load is void, unless somebody says otherwise. */
const LAG_P99_MS_MAX = 5;

/** A command line that cannot be followed; its message is for the person who wrote it. */
export class OptionError extends Error {}

/** @throws OptionError where the text is no number within the range. */
export function numberOption(
  name: string,
  text: string | undefined,
  fallback: number,
  range: { readonly min: number; readonly max: number },
): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (text.trim() === '' || !(value >= range.min && value <= range.max)) {
    throw new OptionError(`--${name} is "${text}", allowed are ${range.min} to ${range.max}`);
  }
  return value;
}

/** @throws OptionError where the text is none of the choices. */
export function choiceOption<Choice extends string>(
  name: string,
  text: string | undefined,
  fallback: Choice,
  choices: readonly Choice[],
): Choice {
  if (text === undefined) return fallback;
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw new OptionError(`--${name} is "${text}", allowed are ${choices.join(', ')}`);
  return found;
}

/** @throws OptionError where an option is not known or has no value. */
export function parseOptions<const Known extends NonNullable<ParseArgsConfig['options']>>(
  argv: readonly string[],
  options: Known,
): ReturnType<typeof parseArgs<{ args: string[]; options: Known }>>['values'] {
  try {
    return parseArgs<{ args: string[]; options: Known }>({ args: [...argv], options }).values;
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}

/** `--lag-limit`, in milliseconds. */
export function lagLimitOption(text: string | undefined, fallback = LAG_P99_MS_MAX): number {
  return numberOption('lag-limit', text, fallback, { min: 1, max: 1_000 });
}
