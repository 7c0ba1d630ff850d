/** A preference (RFC 7240): a name, perhaps a value, perhaps parameters that are not looked at here. */
const PREFERENCE = /^\s*([!#$%&'*+.^_`|~\w-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~\w-]+)))?\s*(?:;|$)/;
/** Between preferences; a comma within quotes is part of a value. */
const PART = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;

/** Whether the sender of `Prefer` takes an estimate for an answer: `handling=lenient`; of a name given twice the first counts. */
export function prefersLenient(prefer: string | readonly string[] | undefined): boolean {
  if (prefer === undefined) return false;
  const text = typeof prefer === 'string' ? prefer : prefer.join(',');
  for (const part of text.match(PART) ?? []) {
    const [, name, quoted, token] = PREFERENCE.exec(part) ?? [];
    if (name?.toLowerCase() === 'handling') return (quoted ?? token)?.toLowerCase() === 'lenient';
  }
  return false;
}
