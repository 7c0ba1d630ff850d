import fc from 'fast-check';
import { scanJson } from './json-scan';

const pointers = (text: string, integersOnly = true): string[] => {
  JSON.parse(text);
  return scanJson(text, integersOnly).map(({ pointer }) => pointer);
};

/** A JSON text in parts, so that what a scan must find in it is known by construction. */
type Node =
  | { readonly kind: 'literal'; readonly text: string; readonly fault: boolean }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'object'; readonly members: readonly { readonly name: string; readonly node: Node }[] };

const escaped = (text: string): string =>
  `"${[...text].map((one) => (/[\x20-\x7e]/.test(one) && !'"\\'.includes(one) && one !== 'a' ? one : [...Array(one.length).keys()].map((at) => `\\u${one.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''))).join('')}"`;

const number = fc.oneof(
  fc.bigInt().map((value) => ({ text: String(value), fault: false })),
  fc
    .tuple(fc.integer(), fc.constantFrom('.0', '.50', 'e0', 'E+2', 'e-3', '.1e9'))
    .map(([value, rest]) => ({ text: `${value}${rest}`, fault: true })),
);
const string = fc.string({ unit: 'binary' }).chain((text) =>
  fc.constantFrom(
    { text: JSON.stringify(text), fault: false },
    { text: escaped(text), fault: false },
    // Half a pair, by escape.
    { text: `"${'\\ud83d'}${'x'}"`, fault: true },
    { text: '"\\\\"', fault: false },
    { text: '"\\\\\\""', fault: false },
    { text: '"1.5,{}[]:"', fault: false },
  ),
);
const word = fc.constantFrom(...['true', 'false', 'null'].map((text) => ({ text, fault: false })));
const { node } = fc.letrec<{ node: Node }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(number, string, word).map((one): Node => ({ kind: 'literal', ...one })),
    fc.array(tie('node'), { maxLength: 4 }).map((items): Node => ({ kind: 'list', items })),
    fc
      .array(
        fc.record({ name: fc.constantFrom('a', 'b', 'a/b', '', '~', '__x', 'é', '😀', 'c"d'), node: tie('node') }),
        {
          maxLength: 24,
        },
      )
      .map((members): Node => ({ kind: 'object', members })),
  ),
}));

function write(one: Node, blank: string, escapes: boolean): string {
  switch (one.kind) {
    case 'literal':
      return one.text;
    case 'list':
      return `[${blank}${one.items.map((item) => write(item, blank, escapes)).join(`${blank},${blank}`)}]`;
    case 'object': {
      // The second of two equal names is the one that is written otherwise.
      const members = one.members.map(({ name, node: value }, at) => {
        const written = escapes && at % 2 === 1 ? escaped(name) : JSON.stringify(name);
        return `${written}${blank}:${blank}${write(value, blank, escapes)}`;
      });
      return `{${blank}${members.join(`,${blank}`)}${blank}}`;
    }
    default: {
      const never: never = one;
      throw new Error(String(never));
    }
  }
}

function expected(one: Node, at: string): string[] {
  if (one.kind === 'literal') return one.fault ? [at] : [];
  if (one.kind === 'list') return one.items.flatMap((item, index) => expected(item, `${at}/${index}`));
  const seen = new Set<string>();
  return one.members.flatMap(({ name, node: value }) => {
    const pointer = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const again = seen.has(name) ? [pointer] : [];
    seen.add(name);
    return [...again, ...expected(value, pointer)];
  });
}

describe('what JSON.parse does not tell of a text', () => {
  it('each fault of any text is found at its place, and nothing else', () => {
    fc.assert(
      fc.property(node, fc.constantFrom('', ' ', '\n\t\r '), fc.boolean(), (one, blank, escapes) => {
        const found = pointers(write(one, blank, escapes));
        expect(found).toEqual(expected(one, '').slice(0, 100));
      }),
      { numRuns: 1_000 },
    );
  });

  it('what JSON.stringify writes of integers has no fault, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value, (_name, one: unknown) =>
          typeof one === 'number' ? Math.trunc(one) % 1e9 : one,
        );
        expect(pointers(text)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['1.0', ['']],
    ['-1e2', ['']],
    ['1E+2', ['']],
    ['-0', []],
    ['"1.5e3"', []],
    ['[1,[2.5],-3,4e0]', ['/1/0', '/3']],
    ['{"a":{"a":1},"b":[{"a":1},{"a":1}]}', []],
    ['{"a":1,"\\u0061":2}', ['/a']],
    ['{"":1,"":2}', ['/']],
    ['{"a\\"":1,"a\\"":2}', ['/a"']],
    ['{"a\\\\":1,"b":"\\\\\\"","a\\\\":"}"}', ['/a\\']],
    ['"\\ud83d\\ude00"', []],
    ['["\\ude00"]', ['/0']],
    ['{"\\ud800":1}', ['']],
    [`{${Array.from({ length: 40 }, (_, at) => `"n${at}":1`).join()},"n0":1,"n39":1}`, ['/n0', '/n39']],
  ])('%s', (text, faults) => {
    expect(pointers(text)).toEqual(faults);
  });

  it('fractions are faults where integers are demanded only; duplicates always', () => {
    expect(pointers('{"a":1.5,"b":1,"b":1}', false)).toEqual(['/b']);
  });

  it('32 levels are read, the 33rd is told of and ends the scan', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}1.5${']'.repeat(depth)}`;
    expect(scanJson(nested(32), true)).toEqual([
      { pointer: '/0'.repeat(32), detail: 'Must be an integer, written without fraction or exponent' },
    ]);
    expect(scanJson(nested(33), true)).toEqual([{ pointer: '/0'.repeat(32), detail: 'Nested deeper than 32' }]);
    expect(scanJson(nested(30_000), true)).toHaveLength(1);
  });

  it('stops at a hundred faults', () => {
    expect(scanJson(`[${'1.5,'.repeat(5_000)}1]`, true)).toHaveLength(100);
  });
});
