import { AST_NODE_TYPES, type TSESLint, type TSESTree } from '@typescript-eslint/utils';
import type ts from 'typescript';
import { calleeName } from './call-context';
import { constantText } from './constant-text';
import { foreignDeclaration, type Inspection, isForeign } from './inspection';
import { describeFile } from './module-reach';
import type { SqlNames } from './sql-names';
import { isValueUse, reportNamedValue } from './text-reach';

/**
 * What is reached without naming a module or a resource: a neighbour's row in a table by lane
 * (`settings.lanes.fraud`), a member that a neighbour's class declares, a neighbour's environment variable.
 */
export function memberReach(inspection: Inspection, sql: SqlNames): TSESLint.RuleListener {
  const reported = new WeakSet<TSESTree.Node>();
  const memberExit = (node: TSESTree.MemberExpression): void => {
    if (reported.has(node.object) || reportMember(inspection, node)) reported.add(node);
    else if (isValueUse(node)) reportNamedValue(inspection, sql, node);
  };
  return {
    'MemberExpression:exit': memberExit,
    ObjectPattern: (node) => reportPattern(inspection, node),
    CallExpression: (node) => reportLookup(inspection, node),
    TSIndexedAccessType: (node) => reportRowType(inspection, node),
  };
}

function reportMember(inspection: Inspection, node: TSESTree.MemberExpression): boolean {
  const name = memberName(inspection, node);
  if (name === null) return reportWideKey(inspection, node);
  if (inspection.names.lanes.includes(name) && isForeign(inspection, name)) {
    if (isTableByLane(inspection, inspection.services.getTypeAtLocation(node.object))) {
      return reportRow(inspection, node, name);
    }
  }
  if (!node.computed && reportSetting(inspection, node.property, name)) return true;
  const symbol = inspection.services.getSymbolAtLocation(node.property);
  return symbol !== undefined && reportDeclared(inspection, node.property, symbol);
}

function memberName(inspection: Inspection, node: TSESTree.MemberExpression): string | null {
  if (node.computed) return constantText(inspection, node.property);
  return node.property.type === AST_NODE_TYPES.Identifier ? node.property.name : null;
}

/** `(typeof laneTable)['fraud']` */
function reportRowType(inspection: Inspection, node: TSESTree.TSIndexedAccessType): void {
  const name = constantText(inspection, node.indexType);
  if (name === null || !inspection.names.lanes.includes(name) || !isForeign(inspection, name)) return;
  if (isTableByLane(inspection, inspection.services.getTypeAtLocation(node.objectType)))
    reportRow(inspection, node, name);
}

/** In a lane, a key that may be a neighbour's opens the whole table; lane-neutral code is given its key as a value. */
function reportWideKey(inspection: Inspection, node: TSESTree.MemberExpression): boolean {
  if (!node.computed || inspection.place.kind !== 'lane') return false;
  const key = inspection.services.getTypeAtLocation(node.property);
  if (!key.isUnion()) return false;
  const lane = key.types
    .map((type) => (type.isStringLiteral() ? type.value : ''))
    .find((value) => inspection.names.lanes.includes(value) && isForeign(inspection, value));
  if (lane === undefined) return false;
  if (!isTableByLane(inspection, inspection.services.getTypeAtLocation(node.object))) return false;
  return reportRow(inspection, node, lane);
}

function reportRow(inspection: Inspection, node: TSESTree.Node, lane: string): boolean {
  inspection.report(node, { lane, what: 'row in a table by lane', way: 'member access' });
  return true;
}

function reportSetting(inspection: Inspection, node: TSESTree.Node, name: string): boolean {
  const setting = inspection.names.settingsIn(name).find((found) => found.name === name);
  if (setting === undefined || !isForeign(inspection, setting.lane)) return false;
  inspection.report(node, { lane: setting.lane, what: `setting \`${name}\``, way: 'literal name' });
  return true;
}

function reportDeclared(inspection: Inspection, node: TSESTree.Node, symbol: ts.Symbol): boolean {
  if (reportProvider(inspection, node, symbol)) return true;
  const declaration = foreignDeclaration(inspection, symbol);
  if (declaration === null || inspection.reached.has(declaration.fileName)) return false;
  const what = `\`${declaration.name}\`, ${describeFile(inspection.places.pathOf(declaration.fileName))}`;
  inspection.report(node, { lane: declaration.lane, what, way: 'member access' });
  return true;
}

/** `settings.taxProvider`: where a lane's HTTP client calls stands in the settings beside the table. */
function reportProvider({ names, places, place, report }: Inspection, node: TSESTree.Node, symbol: ts.Symbol): boolean {
  const lane = names.lanes.find((name) => symbol.name === `${name}Provider`);
  if (lane === undefined || !isForeign({ place }, lane)) return false;
  const fileName = symbol.declarations?.[0]?.getSourceFile().fileName ?? '';
  if (!places.pathOf(fileName).startsWith('config/')) return false;
  report(node, { lane, what: `HTTP client's setting \`${symbol.name}\``, way: 'member access' });
  return true;
}

/** `const { fraud } = settings.lanes` is `settings.lanes.fraud` in other words. */
function reportPattern(inspection: Inspection, pattern: TSESTree.ObjectPattern): void {
  const type = inspection.services.getTypeAtLocation(pattern);
  for (const property of pattern.properties) {
    if (
      property.type !== AST_NODE_TYPES.Property ||
      property.computed ||
      property.key.type !== AST_NODE_TYPES.Identifier
    )
      continue;
    const { name } = property.key;
    if (reportSetting(inspection, property.key, name)) continue;
    const isRow = inspection.names.lanes.includes(name) && isForeign(inspection, name);
    if (isRow && isTableByLane(inspection, type)) {
      reportRow(inspection, property, name);
      continue;
    }
    const symbol = inspection.checker.getPropertyOfType(type, name);
    if (symbol !== undefined) reportDeclared(inspection, property.key, symbol);
  }
}

/** Functions that make a lane's token of its name, as `laneRedisToken('fraud')`. */
const LANE_TOKEN = /^(?:get)?[Ll]ane\w*Token$/;

/** `registry.find('fraud')` and `pools.get('fraud')` where the keys are lanes, and tokens made of a lane's name. */
function reportLookup(inspection: Inspection, node: TSESTree.CallExpression): void {
  const { callee } = node;
  const [key] = node.arguments;
  if (key === undefined) return;
  const isToken = LANE_TOKEN.test(calleeName(callee) ?? '');
  if (!isToken && callee.type !== AST_NODE_TYPES.MemberExpression) return;
  const lane = constantText(inspection, key);
  if (lane === null || !inspection.names.lanes.includes(lane) || !isForeign(inspection, lane)) return;
  if (isToken) {
    inspection.report(node, { lane, what: 'token of the lane', way: 'injection token' });
    return;
  }
  if (callee.type !== AST_NODE_TYPES.MemberExpression) return;
  if (!isRegistryOrMapByLane(inspection, inspection.services.getTypeAtLocation(callee.object))) return;
  inspection.report(node, { lane, what: 'entry in a registry by lane', way: 'member access' });
}

function isTableByLane({ names }: Inspection, type: ts.Type): boolean {
  const table = type.getNonNullableType();
  return names.lanes.every((lane) => table.getProperty(lane) !== undefined);
}

function isRegistryOrMapByLane({ names, checker }: Inspection, receiver: ts.Type): boolean {
  const type = receiver.getNonNullableType();
  const name = type.getSymbol()?.name ?? '';
  if (name.endsWith('LaneRegistry')) return true;
  if (name !== 'Map' && name !== 'ReadonlyMap') return false;
  const [key] = checker.getTypeArguments(type as ts.TypeReference);
  const keys = key?.isUnion() === true ? key.types.map((member) => (member.isStringLiteral() ? member.value : '')) : [];
  return names.lanes.every((lane) => keys.includes(lane));
}
