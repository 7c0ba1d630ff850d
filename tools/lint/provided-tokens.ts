import ts from 'typescript';
import type { LanePlaces } from './lane-places';

/** For each string under which something is provided: the lanes that provide it, null for lane-neutral code. */
export type ProvidedTokens = ReadonlyMap<string, ReadonlySet<string | null>>;

const known = new WeakMap<ts.Program, ProvidedTokens>();

/**
 * The string tokens of the whole program, so that `@Inject('TAX_HTTP_CLIENT')` is known for what it is although no
 * table lists it. A token that several places provide belongs to whoever asks for it in his own module.
 */
export function providedTokens(program: ts.Program, places: LanePlaces): ProvidedTokens {
  const found = known.get(program);
  if (found !== undefined) return found;
  const tokens = new Map<string, Set<string | null>>();
  const checker = program.getTypeChecker();
  for (const file of program.getSourceFiles()) {
    if (!places.pathOf(file.fileName).startsWith('src/') || !file.text.includes('provide')) continue;
    const owner = places.ownerOf(file.fileName);
    const visit = (node: ts.Node): void => {
      if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === 'provide') {
        const type = checker.getTypeAtLocation(node.initializer);
        if (type.isStringLiteral()) tokens.set(type.value, (tokens.get(type.value) ?? new Set()).add(owner));
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  known.set(program, tokens);
  return tokens;
}
