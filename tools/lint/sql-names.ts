import type { LaneNames, NamedResource } from './lane-names';

/** Shapes that SQL has and a sentence about tax or fraud has not: two words of the grammar in their places. */
const STATEMENTS = [
  /\bselect\b[\s\S]*\bfrom\b/,
  /^\s*select\b[\s\S]*\(/,
  /\binsert\s+into\b/,
  /\bupdate\s+(?:only\s+)?\S+\s+(?:(?:as\s+)?\w+\s+)?set\b/,
  /\bdelete\s+from\b/,
  /\bmerge\s+into\b/,
  /\b(?:create|alter|drop)\s+(?:(?:or|replace|unique|temp|temporary|unlogged|materialized|constraint|default)\s+)*(?:table|index|schema|view|function|procedure|trigger|sequence|type|domain|policy|role|user|privileges)\b/,
  /\btruncate\s+(?:table\s+|only\s+)?"?\w+"?\./,
  /\b(?:grant|revoke)\b[\s\S]*\b(?:on|to|from)\b/,
  /^\s*copy\s+\S+[\s\S]*\b(?:from|to)\b/,
  /\block\s+table\b/,
  /\bcomment\s+on\s+(?:table|column|schema)\b/,
  /\brefresh\s+materialized\b/,
  /^\s*(?:vacuum|analyze|reindex|cluster|call)\s+(?:\w+\s+)?"?\w+"?\./,
  /\bjoin\s+\S+[\s\S]*\b(?:on|using)\b/,
  /\bfrom\s+\S+[\s\S]*\b(?:where|join|group\s+by|order\s+by|returning)\b/,
  /\breferences\s+"?\w+"?\."?\w+"?\s*\(/,
].map((shape) => new RegExp(shape.source, 'i'));

/** In capitals even one word before a dotted name is SQL: a fragment that is pasted into a statement. */
const FRAGMENT = /\b(?:FROM|JOIN|INTO|UPDATE|TABLE|REFERENCES|TRUNCATE|ONLY|EXISTS)\s+$/;

/** Where a statement names a table, whatever else it calls so; a list goes on after a comma, where an alias may be. */
const TABLE_PLACE =
  /\b(?:analyze|call|column|copy|exists|from|function|index|into|join|lateral|lock|on|only|procedure|references|sequence|table|trigger|truncate|type|update|using|vacuum|view)\s+$/i;
const NAME_PLACE = /(?:,\s*|\(\s*|::|')$/;

/** From the word to the end of the statement: everything that is searched. */
const SEARCH_PATH = /\bsearch_path\b[^;]*/gi;

/** Finds schemas, and so tables, of lanes in SQL text. */
export class SqlNames {
  private readonly qualified: RegExp;
  private readonly bare: RegExp;
  private readonly schemaName: RegExp;
  private readonly schemaWord: RegExp;

  constructor(private readonly names: LaneNames) {
    const schema = names.schemaAlternatives();
    this.qualified = new RegExp(`(?<![\\w.$/@"-])"?(${schema})"?\\."?[a-z_]\\w*"?`, 'gi');
    this.bare = new RegExp(`^"?(${schema})"?\\."?[a-z_]\\w*"?$`, 'i');
    this.schemaName = new RegExp(`(?<![\\w-])(${schema})(?![\\w-])`, 'gi');
    this.schemaWord = new RegExp(`\\bschema\\s+(?:if\\s+(?:not\\s+)?exists\\s+)?"?(${schema})"?(?![\\w-])`, 'gi');
  }

  /** @param isTableName Whether the text stands where a table's name is expected, as in `@Entity('fraud.evaluations')`. */
  namedIn(text: string, isTableName: boolean): NamedResource[] {
    const bare = isTableName ? this.bare.exec(text) : null;
    if (bare !== null) return this.resources([bare]);
    const found = [...text.matchAll(SEARCH_PATH)].flatMap(([path]) => [...path.matchAll(this.schemaName)]);
    const isStatement = STATEMENTS.some((shape) => shape.test(text));
    if (isStatement) found.push(...text.matchAll(this.schemaWord));
    for (const match of text.matchAll(this.qualified)) {
      const before = text.slice(0, match.index);
      const isTable = FRAGMENT.test(before) || (isStatement && TABLE_PLACE.test(before));
      if (isTable || (isStatement && isOtherName(text, match))) found.push(match);
    }
    return this.resources(found);
  }

  private resources(matches: readonly RegExpMatchArray[]): NamedResource[] {
    return matches.flatMap(([text, schema = '']) => {
      const lane = this.names.laneOfSchema(schema);
      if (lane === undefined) return [];
      const table = text.includes('.') ? text.replaceAll('"', '') : schema;
      return [{ lane, kind: 'schema', name: table }];
    });
  }
}

/** A function, a type, a sequence or a further table of a list. */
function isOtherName(text: string, match: RegExpExecArray): boolean {
  const after = text.slice(match.index + match[0].length);
  const isPlace = NAME_PLACE.test(text.slice(0, match.index)) || /^\s*\(|^\./.test(after);
  return isPlace && !isAlias(text, match[1] ?? '');
}

/** `with tax as (…)`, `join lines as tax` and `from lines tax` make the word a name of the statement's own. */
function isAlias(text: string, word: string): boolean {
  const named = `\\bas\\s+"?${word}"?(?![\\w.])`;
  const expression = `(?:\\bwith|\\brecursive|,)\\s+${word}\\s+as\\b`;
  const table = `\\b(?:from|join|update|into)\\s+[\\w."]+\\s+${word}\\b(?!\\.)`;
  return new RegExp(`${named}|${expression}|${table}`, 'i').test(text);
}
