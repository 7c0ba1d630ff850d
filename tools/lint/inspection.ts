import type { ParserServicesWithTypeInformation, TSESTree } from '@typescript-eslint/utils';
import ts from 'typescript';
import type { LaneNames } from './lane-names';
import type { LanePlaces, Place } from './lane-places';

/** How code gets at a neighbour's resource: the kinds that contract 12 names. */
export type Way = 'import' | 're-export' | 'dynamic import' | 'injection token' | 'literal name' | 'member access';

/** One finding: a file of `place` gets at something of `lane`. */
export interface Reach {
  readonly lane: string;
  /** What is reached, for the message. */
  readonly what: string;
  readonly way: Way;
  /** True where `consumes` lets this lane run the queue's jobs and the code does more than that. */
  readonly beyondConsuming?: boolean;
}

/** What the detectors know of the file that is being linted. */
export interface Inspection {
  readonly names: LaneNames;
  readonly places: LanePlaces;
  readonly place: Place;
  readonly fileName: string;
  readonly services: ParserServicesWithTypeInformation;
  readonly checker: ts.TypeChecker;
  /** Files of neighbours that were reported as imports, so that each use is not reported once more. */
  readonly reached: Set<string>;
  readonly report: (node: TSESTree.Node, reach: Reach) => void;
}

/** Whether something of `lane` is a neighbour's for the file; lane-neutral code has no lane of its own. */
export function isForeign({ place }: Pick<Inspection, 'place'>, lane: string): boolean {
  return place.kind === 'neutral' || (place.kind === 'lane' && place.lane !== lane);
}

/** Follows import and export aliases to what they stand for. */
export function unaliased(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  // Asking for the target of anything else throws.
  return (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
}

/** A declaration that lies with a neighbour. */
export interface ForeignDeclaration {
  readonly lane: string;
  readonly fileName: string;
  /** As the neighbour calls it. */
  readonly name: string;
}

/**
 * Where a neighbour declares a symbol. All its declarations must lie with one neighbour: an interface of the
 * platform that lanes add members to stays the platform's.
 */
export function foreignDeclaration(inspection: Inspection, symbol: ts.Symbol): ForeignDeclaration | null {
  const target = unaliased(inspection.checker, symbol);
  let found: ForeignDeclaration | null = null;
  for (const declaration of target.declarations ?? []) {
    const { fileName } = declaration.getSourceFile();
    const lane = inspection.places.ownerOf(fileName);
    if (lane === null || !isForeign(inspection, lane)) return null;
    found = { lane, fileName, name: target.name };
  }
  return found;
}
