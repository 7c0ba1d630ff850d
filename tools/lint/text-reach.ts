import { dirname, resolve } from 'node:path';
import { AST_NODE_TYPES, type TSESLint, type TSESTree } from '@typescript-eslint/utils';
import { contextOf, isInjectionToken, isLookup, isProducing, isTableName, type TextContext } from './call-context';
import { constantText } from './constant-text';
import { type Inspection, isForeign, unaliased } from './inspection';
import { isRequire } from './module-reach';
import type { NamedResource } from './lane-names';
import { providedTokens } from './provided-tokens';
import type { SqlNames } from './sql-names';

/** Names of resources in literals, templates, sums of them, and values whose type is a literal. */
export function textReach(inspection: Inspection, sql: SqlNames): TSESLint.RuleListener {
  const checkWhole = (node: TSESTree.Node): void => {
    if (isPartOfText(node) || isModuleSpecifier(node)) return;
    const text = constantText(inspection, node);
    if (text !== null) reportText(inspection, sql, node, text);
  };
  return {
    Literal: (node) => {
      if (typeof node.value === 'string' && node.value.length > 2) checkWhole(node);
    },
    TemplateLiteral: checkWhole,
    'BinaryExpression[operator="+"]': checkWhole,
    Identifier: (node) => {
      if (isValueUse(node)) reportNamedValue(inspection, sql, node);
    },
  };
}

/**
 * A constant or a field whose type is a literal. One that this file declares is reported where its text stands; only
 * a consumed queue is looked at again, because what is done with it decides.
 */
export function reportNamedValue(inspection: Inspection, sql: SqlNames, node: TSESTree.Node): void {
  if (isPartOfText(node) || isModuleSpecifier(node)) return;
  const text = constantText(inspection, node);
  if (text === null || text === '') return;
  if (!isDeclaredHere(inspection, node)) return reportText(inspection, sql, node, text);
  const context = contextOf(node);
  if (isProducing(context)) report(inspection, node, context, consumedQueues(inspection, text));
}

function reportText(inspection: Inspection, sql: SqlNames, node: TSESTree.Node, text: string): void {
  const context = contextOf(node);
  const named = resourcesIn(inspection, sql, text, context);
  const foreign = named.filter(({ lane, kind, name }) => {
    if (!isForeign(inspection, lane)) return false;
    return !(kind === 'queue' && isConsumed(inspection, name)) || isProducing(context);
  });
  report(inspection, node, context, foreign);
}

function resourcesIn(inspection: Inspection, sql: SqlNames, text: string, context: TextContext): NamedResource[] {
  const { names } = inspection;
  const found = [...names.namedIn(text), ...names.settingsIn(text), ...sql.namedIn(text, isTableName(context))];
  const schemaOwner = context.key === 'schema' ? names.laneOfSchema(text) : undefined;
  if (schemaOwner !== undefined) found.push({ lane: schemaOwner, kind: 'schema', name: text });
  const folder = names.folderIn(text) ?? relativeFolder(inspection, text);
  if (folder !== null) found.push(folder);
  return found.length > 0 ? found : providedIn(inspection, text, context);
}

/** `fork('../fraud/fraud.worker')` and the like: a path that is no import and still loads a neighbour. */
function relativeFolder({ places, fileName }: Inspection, text: string): NamedResource | null {
  if (!/^\.\.?\/\S*$/.test(text)) return null;
  const lane = places.ownerOf(`${resolve(dirname(fileName), text)}/`);
  return lane === null ? null : { lane, kind: 'code', name: text };
}

/** A string token that neighbours provide, and neither this lane nor lane-neutral code. */
function providedIn(inspection: Inspection, text: string, context: TextContext): NamedResource[] {
  if (!isLookup(context)) return [];
  const owners = [...(providedTokens(inspection.services.program, inspection.places).get(text) ?? [])];
  const lanes = owners.filter((owner) => owner !== null);
  if (lanes.length < owners.length || !lanes.every((lane) => isForeign(inspection, lane))) return [];
  return lanes.slice(0, 1).map((lane) => ({ lane, kind: 'code', name: text }));
}

function consumedQueues(inspection: Inspection, text: string): NamedResource[] {
  return inspection.names
    .namedIn(text)
    .filter(({ lane, name }) => isForeign(inspection, lane) && isConsumed(inspection, name));
}

function isConsumed({ names, place }: Inspection, queue: string): boolean {
  return place.kind === 'lane' && names.consumes(place.lane, queue);
}

function report(
  inspection: Inspection,
  node: TSESTree.Node,
  context: TextContext,
  resources: readonly NamedResource[],
): void {
  const way = isInjectionToken(context) ? 'injection token' : 'literal name';
  const once = new Map(resources.map((resource) => [`${resource.lane} ${resource.name}`, resource]));
  for (const { lane, kind, name } of once.values()) {
    const beyondConsuming = kind === 'queue' && isConsumed(inspection, name);
    inspection.report(node, { lane, what: `${kind} \`${name}\``, way, beyondConsuming });
  }
}

/** Parts of a template or a sum are judged as parts of the whole. */
function isPartOfText({ parent }: TSESTree.Node): boolean {
  return (
    parent?.type === AST_NODE_TYPES.TemplateLiteral ||
    (parent?.type === AST_NODE_TYPES.BinaryExpression && parent.operator === '+')
  );
}

const MODULE_STATEMENTS = new Set<string>([
  'ExportAllDeclaration',
  'ExportNamedDeclaration',
  'ImportAttribute',
  'ImportDeclaration',
  'ImportExpression',
  'TSExternalModuleReference',
  'TSImportType',
]);

function isModuleSpecifier(node: TSESTree.Node): boolean {
  const parent = node.parent?.type === AST_NODE_TYPES.TSLiteralType ? node.parent.parent : node.parent;
  if (parent === undefined) return false;
  return (
    MODULE_STATEMENTS.has(parent.type) || (parent.type === AST_NODE_TYPES.CallExpression && isRequire(parent.callee))
  );
}

/** Where a value goes on to, by kind of parent: the fields that hold it. */
const VALUE_PLACES: Readonly<Record<string, readonly string[]>> = {
  ArrayExpression: ['elements'],
  ArrowFunctionExpression: ['body'],
  AssignmentExpression: ['right'],
  AssignmentPattern: ['right'],
  BinaryExpression: ['left', 'right'],
  CallExpression: ['arguments'],
  ConditionalExpression: ['consequent', 'alternate'],
  LogicalExpression: ['left', 'right'],
  NewExpression: ['arguments'],
  PropertyDefinition: ['value'],
  ReturnStatement: ['argument'],
  SpreadElement: ['argument'],
  SwitchCase: ['test'],
  TSAsExpression: ['expression'],
  TSSatisfiesExpression: ['expression'],
  VariableDeclarator: ['init'],
};

/** Whether the name stands where its value goes somewhere; names that only declare, call or type are passed over. */
export function isValueUse(node: TSESTree.Node): boolean {
  const { parent } = node;
  if (parent === undefined) return false;
  if (parent.type === AST_NODE_TYPES.Property)
    return parent.value === node && parent.parent.type === AST_NODE_TYPES.ObjectExpression;
  if (parent.type === AST_NODE_TYPES.MemberExpression) return parent.computed && parent.property === node;
  const children = parent as unknown as Record<string, unknown>;
  return (VALUE_PLACES[parent.type] ?? []).some((field) => {
    const child = children[field];
    return child === node || (Array.isArray(child) && child.includes(node));
  });
}

function isDeclaredHere({ services, checker, fileName }: Inspection, node: TSESTree.Node): boolean {
  const symbol =
    node.parent?.type === AST_NODE_TYPES.Property && node.parent.shorthand
      ? checker.getShorthandAssignmentValueSymbol(services.esTreeNodeToTSNodeMap.get(node.parent))
      : services.getSymbolAtLocation(node);
  const declarations = symbol === undefined ? [] : (unaliased(checker, symbol).declarations ?? []);
  return declarations.some((declaration) => declaration.getSourceFile().fileName === fileName);
}
