import { AST_NODE_TYPES, type TSESTree } from '@typescript-eslint/utils';
import type { Inspection } from './inspection';

/** Stands for a part of a text that only running the program could tell; it is no letter of any name. */
const UNKNOWN = '\u0000';

/** What may have a literal type without being a literal; asking for the type of everything would cost time. */
const TYPED = new Set<string>(['CallExpression', 'ChainExpression', 'Identifier', 'MemberExpression']);

/**
 * The text of an expression as far as it is constant: literals, templates, `+`, and whatever has a literal type,
 * such as an imported constant or a field of the lane table. Null where nothing of it is known.
 */
export function constantText(inspection: Inspection, node: TSESTree.Node): string | null {
  const text = fold(inspection, node);
  return text === UNKNOWN ? null : text;
}

function fold(inspection: Inspection, node: TSESTree.Node): string {
  if (node.type === AST_NODE_TYPES.Literal) return typeof node.value === 'string' ? node.value : UNKNOWN;
  if (node.type === AST_NODE_TYPES.TemplateLiteral) {
    const parts = node.quasis.map((quasi, index) => {
      const expression = node.expressions[index];
      return quasi.value.cooked + (expression === undefined ? '' : fold(inspection, expression));
    });
    return parts.join('');
  }
  if (node.type === AST_NODE_TYPES.BinaryExpression) {
    return node.operator === '+' ? fold(inspection, node.left) + fold(inspection, node.right) : UNKNOWN;
  }
  if (
    node.type === AST_NODE_TYPES.TSAsExpression ||
    node.type === AST_NODE_TYPES.TSSatisfiesExpression ||
    node.type === AST_NODE_TYPES.TSNonNullExpression
  ) {
    return fold(inspection, node.expression);
  }
  if (node.type === AST_NODE_TYPES.TSLiteralType) return fold(inspection, node.literal);
  return TYPED.has(node.type) ? (literalType(inspection, node) ?? UNKNOWN) : UNKNOWN;
}

function literalType({ services }: Inspection, node: TSESTree.Node): string | null {
  const type = services.getTypeAtLocation(node);
  return type.isStringLiteral() ? type.value : null;
}
