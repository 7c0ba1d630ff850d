/** Never in clear in a log (contract 7): card tokens, JWTs, credentials and amounts. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'card_token',
  'cardToken',
  'password',
  'token',
  'secret',
  'amount',
]);
const AMOUNT_NAME = /(_minor|Minor)$/;
const MASK = '****';
const DEPTH_MAX = 6;
/** Longer lists are cut: a log line is no place for a batch. */
const ITEMS_MAX = 50;

function isSecret(name: string): boolean {
  return SECRET_NAMES.has(name) || SECRET_NAMES.has(name.toLowerCase()) || AMOUNT_NAME.test(name);
}

/** A copy in which members with a secret name are masked, however deep; errors keep what names the fault only. */
export function maskSecrets(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? value.toString() : value;
  if (value instanceof Error) return describeError(value, depth);
  if (value instanceof Date) return value;
  if (depth >= DEPTH_MAX) return '…';
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => maskSecrets(item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    copy[name] = isSecret(name) ? MASK : maskSecrets(member, depth + 1);
  }
  return copy;
}

/**
 * Name, message, code and stack. A driver's error carries more: PostgreSQL's `detail` and `where` quote the row, and
 * TypeORM adds the statement with its parameters, card tokens included.
 */
function describeError(error: Error, depth: number): Record<string, unknown> {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    stack: error.stack,
    ...(error.cause === undefined || depth >= 3 ? {} : { cause: maskSecrets(error.cause, depth + 1) }),
  };
}

/** JWTs, credentials of a header or a URL, and card tokens, wherever in a line they stand. */
const SECRET_TEXT =
  /eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*|\b(?:Bearer|Basic)\s+[\w.~+/=-]{8,}|\bcard_[A-Za-z0-9]\w{3,}|(?<=:\/\/[^\s:@/"]{0,100}:)[^\s@/"]{1,200}(?=@)/g;
/** Names that begin like a card token and are none: datasources, schemas, roles, columns. */
const NO_CARD_TOKEN = /^card_(auth|token|busy|id|hash|fingerprint)/;

/** The last guard, on the finished line: a secret inside a message or a quoted value. */
export function maskText(line: string): string {
  return line.replace(SECRET_TEXT, (found) => (NO_CARD_TOKEN.test(found) ? found : MASK));
}
