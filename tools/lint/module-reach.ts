import { dirname, resolve } from 'node:path';
import { AST_NODE_TYPES, type TSESLint, type TSESTree } from '@typescript-eslint/utils';
import ts from 'typescript';
import { foreignDeclaration, type Inspection, isForeign, type Way } from './inspection';
import { constantText } from './constant-text';

/** Which exports of a module a statement takes: by name, or all of them. */
type Taken = readonly { name: string; node: TSESTree.Node }[] | 'all';

/**
 * Imports, re-exports, `import()`, `require()` and type imports. A module of a neighbour is a reach as such; of any
 * other module each taken export is followed to its declaration, through every alias and re-export between.
 */
export function moduleReach(inspection: Inspection): TSESLint.RuleListener {
  const check = (node: TSESTree.Node, source: TSESTree.Node, taken: Taken, way: Way): void => {
    const specifier = constantText(inspection, source);
    if (specifier === null) return;
    checkModule(inspection, { node, source, specifier, taken, way });
  };
  return {
    ImportDeclaration: (node) => check(node, node.source, importedNames(node), 'import'),
    TSImportEqualsDeclaration: (node) => {
      if (node.moduleReference.type !== AST_NODE_TYPES.TSExternalModuleReference) return;
      check(node, node.moduleReference.expression, 'all', 'import');
    },
    TSImportType: (node) => check(node, node.source, typeName(node), 'import'),
    ExportAllDeclaration: (node) => check(node, node.source, 'all', 're-export'),
    ExportNamedDeclaration: (node) => {
      if (node.source === null) return;
      const taken = node.specifiers.map((item) => ({ name: nameOf(item.local), node: item }));
      check(node, node.source, taken, 're-export');
    },
    ImportExpression: (node) => check(node, node.source, 'all', 'dynamic import'),
    CallExpression: (node) => {
      const [source] = node.arguments;
      if (source !== undefined && isRequire(node.callee)) check(node, source, 'all', 'dynamic import');
    },
  };
}

function importedNames(node: TSESTree.ImportDeclaration): Taken {
  const taken: { name: string; node: TSESTree.Node }[] = [];
  for (const item of node.specifiers) {
    if (item.type === AST_NODE_TYPES.ImportNamespaceSpecifier) return 'all';
    taken.push({ name: item.type === AST_NODE_TYPES.ImportSpecifier ? nameOf(item.imported) : 'default', node: item });
  }
  return taken;
}

function typeName(node: TSESTree.TSImportType): Taken {
  let name = node.qualifier;
  while (name?.type === AST_NODE_TYPES.TSQualifiedName) name = name.left;
  return name?.type === AST_NODE_TYPES.Identifier ? [{ name: name.name, node }] : 'all';
}

function nameOf(node: TSESTree.Identifier | TSESTree.StringLiteral): string {
  return node.type === AST_NODE_TYPES.Identifier ? node.name : node.value;
}

export function isRequire(callee: TSESTree.Expression): boolean {
  if (callee.type === AST_NODE_TYPES.Identifier) return callee.name === 'require';
  // `require.resolve`, `module.require`
  if (callee.type !== AST_NODE_TYPES.MemberExpression || callee.object.type !== AST_NODE_TYPES.Identifier) return false;
  return callee.object.name === 'require' || (callee.object.name === 'module' && isNamed(callee.property, 'require'));
}

function isNamed(node: TSESTree.Node, name: string): boolean {
  return node.type === AST_NODE_TYPES.Identifier && node.name === name;
}

interface ModuleUse {
  node: TSESTree.Node;
  source: TSESTree.Node;
  specifier: string;
  taken: Taken;
  way: Way;
}

function checkModule(inspection: Inspection, use: ModuleUse): void {
  const { places, checker, reached } = inspection;
  const module = moduleSymbol(inspection, use);
  const fileName = module?.declarations?.find(ts.isSourceFile)?.fileName ?? lexicalPath(inspection, use.specifier);
  if (fileName === null) return;
  const owner = places.ownerOf(fileName);
  if (owner !== null && isForeign(inspection, owner)) {
    reached.add(fileName);
    inspection.report(use.node, { lane: owner, what: describeFile(places.pathOf(fileName)), way: use.way });
    return;
  }
  // The lane's own files are linted themselves, and packages know no lane.
  if (owner !== null || module === undefined || fileName.includes('/node_modules/')) return;
  const taken =
    use.taken === 'all'
      ? checker.getExportsOfModule(module).map((symbol) => ({ symbol, node: use.node }))
      : use.taken.map(({ name, node }) => ({ symbol: checker.tryGetMemberInModuleExports(name, module), node }));
  for (const { symbol, node } of taken) {
    const declaration = symbol && foreignDeclaration(inspection, symbol);
    if (!declaration) continue;
    reached.add(declaration.fileName);
    const what = `\`${declaration.name}\`, ${describeFile(places.pathOf(declaration.fileName))}`;
    inspection.report(node, { lane: declaration.lane, what, way: use.way });
    if (node === use.node) return; // One finding for a statement that takes everything.
  }
}

/** The module that a specifier means; the checker knows imports, and `require` or a constant is resolved here. */
function moduleSymbol({ services, checker, fileName }: Inspection, use: ModuleUse): ts.Symbol | undefined {
  const known = checker.getSymbolAtLocation(services.esTreeNodeToTSNodeMap.get(use.source));
  if (known?.declarations?.some(ts.isSourceFile) === true) return known;
  const options = services.program.getCompilerOptions();
  const { resolvedModule } = ts.resolveModuleName(use.specifier, fileName, options, ts.sys);
  const file = resolvedModule && services.program.getSourceFile(resolvedModule.resolvedFileName);
  return file && checker.getSymbolAtLocation(file);
}

/** A relative specifier that the compiler cannot resolve still tells whose folder it points into. */
function lexicalPath({ fileName }: Inspection, specifier: string): string | null {
  return specifier.startsWith('.') ? resolve(dirname(fileName), specifier) : null;
}

const KINDS: readonly (readonly [RegExp, string])[] = [
  [/\/entities\/|\.entity\./, 'entity'],
  [/repository/, 'repository'],
  [/client|provider/, 'HTTP client'],
  [/processor|worker|jobs|queue/, 'queue or worker'],
  [/health/, 'health indicator'],
];

/** A file in the words of contract 12, as far as its name tells. */
export function describeFile(path: string): string {
  const kind = KINDS.find(([pattern]) => pattern.test(path))?.[1] ?? 'code';
  return `${kind} in ${path}`;
}
