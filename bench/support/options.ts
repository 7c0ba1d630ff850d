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
