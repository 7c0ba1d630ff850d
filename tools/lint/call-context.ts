import { AST_NODE_TYPES, type TSESTree } from '@typescript-eslint/utils';

/** Where a text stands: what is called or decorated with it, and under which key. */
export interface TextContext {
  readonly callee: string | null;
  readonly key: string | null;
}

const TRANSPARENT = new Set<string>([
  'ArrayExpression',
  'ConditionalExpression',
  'LogicalExpression',
  'ObjectExpression',
  'SpreadElement',
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
]);
/** Options objects of Nest and TypeORM are at most this deep. */
const DEPTH_MAX = 8;

/** The call, `new` or decorator whose argument `node` is, directly or inside an options object or a list. */
export function contextOf(node: TSESTree.Node): TextContext {
  let child = node;
  let key: string | null = null;
  for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
    const { parent } = child;
    if (parent === undefined) break;
    if (parent.type === AST_NODE_TYPES.CallExpression || parent.type === AST_NODE_TYPES.NewExpression) {
      const isArgument = parent.callee !== child;
      return { callee: isArgument ? calleeName(parent.callee) : null, key };
    }
    if (parent.type === AST_NODE_TYPES.Property) key ??= keyName(parent.key);
    else if (parent.type === AST_NODE_TYPES.PropertyDefinition)
      return { callee: null, key: key ?? keyName(parent.key) };
    else if (!TRANSPARENT.has(parent.type)) break;
    child = parent;
  }
  return { callee: null, key };
}

export function calleeName(callee: TSESTree.Node): string | null {
  if (callee.type === AST_NODE_TYPES.Identifier) return callee.name;
  return callee.type === AST_NODE_TYPES.MemberExpression ? keyName(callee.property) : null;
}

function keyName(key: TSESTree.Node): string | null {
  if (key.type === AST_NODE_TYPES.Identifier) return key.name;
  return key.type === AST_NODE_TYPES.Literal && typeof key.value === 'string' ? key.value : null;
}

const TOKEN_CALLS = new Set([
  'Inject',
  'InjectDataSource',
  'InjectEntityManager',
  'InjectFlowProducer',
  'InjectQueue',
  'InjectRepository',
  'OnQueueEvent',
  'Processor',
  'QueueEventsListener',
  'forFeature',
  'forRoot',
  'forRootAsync',
  'getDataSourcePrefix',
  'getDataSourceToken',
  'getEntityManagerToken',
  'getFlowProducerToken',
  'getQueueEventsToken',
  'getQueueToken',
  'getRepositoryToken',
  'registerFlowProducer',
  'registerQueue',
  'registerQueueAsync',
]);
const TOKEN_KEYS = new Set(['inject', 'provide', 'useExisting']);
/** `moduleRef.get('…')`: also what maps and headers are read with, so it counts for tokens that are known only. */
const LOOKUPS = new Set(['get', 'resolve']);

/** Whether Nest takes the text as the name under which something is injected. */
export function isInjectionToken({ callee, key }: TextContext): boolean {
  return (callee !== null && TOKEN_CALLS.has(callee)) || (key !== null && TOKEN_KEYS.has(key));
}

/** Whether the text may look something up in Nest's container. */
export function isLookup(context: TextContext): boolean {
  return isInjectionToken(context) || (context.callee !== null && LOOKUPS.has(context.callee));
}

const PRODUCER_CALLS = new Set(['InjectQueue', 'Queue', 'getQueueToken']);

/** Whether the text names a queue in order to add to it or manage it, which `consumes` does not allow. */
export function isProducing({ callee, key }: TextContext): boolean {
  // `flow.add({ queueName })` reaches a queue that nobody injected.
  return key === 'queueName' || (callee !== null && PRODUCER_CALLS.has(callee));
}

const TABLE_CALLS = new Set([
  'Entity',
  'EntitySchema',
  'Table',
  'ViewEntity',
  'addColumn',
  'addColumns',
  'changeColumn',
  'clearTable',
  'createForeignKey',
  'createIndex',
  'createTable',
  'dropColumn',
  'dropTable',
  'from',
  'getRepository',
  'getTable',
  'hasTable',
  'innerJoin',
  'innerJoinAndSelect',
  'into',
  'leftJoin',
  'leftJoinAndSelect',
  'renameTable',
]);
const TABLE_KEYS = new Set(['referencedTableName', 'table', 'tableName', 'tablePath']);

/** Whether the text stands where TypeORM or pg wants a table's name. */
export function isTableName({ callee, key }: TextContext): boolean {
  return (callee !== null && TABLE_CALLS.has(callee)) || (key !== null && TABLE_KEYS.has(key));
}
