/** A JSON number as it was written: parsed into a float, `0.1` would be another number than the one that was sent. */
export class WrittenNumber {
  constructor(readonly text: string) {}
}

/** Both are in Node 24 and not yet in TypeScript's library (proposal-json-parse-with-source). */
interface JsonWithSource {
  rawJSON(text: string): unknown;
  parse(
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
}
const json = JSON as unknown as JsonWithSource;

/** @throws SyntaxError */
export function parseWritten(text: string): unknown {
  return json.parse(text, (_name, value, { source }) =>
    typeof value === 'number' ? new WrittenNumber(source ?? String(value)) : value,
  );
}

/** A number for `JSON.stringify` that is written as this text, digit for digit. */
export function writtenNumber(text: string): unknown {
  return json.rawJSON(text);
}
