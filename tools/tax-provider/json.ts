import { type Decimal, textOf } from './decimal';

/** A JSON number as it was written: `0.1` is a tenth here, and not the float next to it. */
export class WrittenNumber {
  constructor(readonly text: string) {}
}

export type Json = null | boolean | string | WrittenNumber | readonly Json[] | { readonly [name: string]: Json };

/** @throws SyntaxError */
export function parseJson(text: string): Json {
  // The third argument is in Node 24 and not yet in TypeScript's library.
  const reviver = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' ? new WrittenNumber(context?.source ?? String(value)) : value;
  return JSON.parse(text, reviver) as Json;
}

export type Writable =
  null | boolean | string | number | { readonly decimal: Decimal } | readonly Writable[] | WritableObject;
export interface WritableObject {
  readonly [name: string]: Writable | undefined;
}

/** JSON with exact decimals; members that are undefined are left out. */
export function writeJson(value: Writable): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(value as readonly Writable[]).map(writeJson).join(',')}]`;
  if (isDecimal(value)) return textOf(value.decimal);
  const members = Object.entries(value as WritableObject).flatMap(([name, member]) =>
    member === undefined ? [] : [`${JSON.stringify(name)}:${writeJson(member)}`],
  );
  return `{${members.join(',')}}`;
}

function isDecimal(value: object): value is { readonly decimal: Decimal } {
  return 'decimal' in value && typeof value.decimal === 'object';
}
