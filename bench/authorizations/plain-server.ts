import { readFileSync } from 'node:fs';
import Fastify, { type FastifyInstance } from 'fastify';
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { authorizationLimits } from '../../config/lanes';
import { readProcessSettings, type Settings } from '../../config/environment';
import { productVersion } from '../../config/version';
import { payloadHashOf, scopeHashOf } from '../../src/ingress/keyed-request';
import { presentAuthorization } from '../../src/lanes/authorization/authorization.presenter';
import { AuthorizationRepository } from '../../src/lanes/authorization/authorization.repository';
import { GroupCommitter } from '../../src/lanes/authorization/group-commit/group-committer';
import { systemClock } from '../../src/platform/system-clock';
import { bodySchema, headersSchema, answerSchema, type CreateBody } from './plain-schemas';
import { openPlainStore } from './plain-store';

/*
 * The control of the authorizations benchmark: what a good engineer would write for the one route in plain Fastify and
 * pg. What the money is decided by is the product's own (statement, group commit, hashes of key and payload, presenter),
 * so that both send the database the same work; everything around it is the shortest form of the same promises: Fastify's
 * JSON schemas, a verified token kept in a cache, a pg pool. No Nest, edge, bulkhead, admission, coordinator of twins,
 * metrics or alerts. The ratio of CPU per request is what those cost.
 */

const PATH = '/v1/authorizations';
const TOKENS_MAX = 10_000;
const KEEP_ALIVE_MS = 72_000;

interface PlainCaller {
  readonly subject: string;
  readonly merchants: '*' | ReadonlySet<string>;
  readonly endsAtMs: number;
}

declare module 'fastify' {
  interface FastifyRequest {
    plainCaller: PlainCaller | null;
  }
}

function verifierOf({ jwt }: Settings): (token: string) => PlainCaller | null | Promise<PlainCaller | null> {
  const keys = createLocalJWKSet(JSON.parse(readFileSync(jwt.jwksFile ?? '', 'utf8')) as JSONWebKeySet);
  const known = new LRUCache<string, PlainCaller>({ max: TOKENS_MAX });
  const verify = async (token: string): Promise<PlainCaller | null> => {
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: jwt.issuer,
        audience: jwt.audience,
        algorithms: ['ES256', 'EdDSA'],
        requiredClaims: ['exp', 'sub'],
      });
      const { sub = '', exp = 0, scope, merchants } = payload;
      if (!String(scope).split(' ').includes('authorizations')) return null;
      const allowed = merchants === '*' ? '*' : new Set(merchants as string[]);
      const caller: PlainCaller = { subject: sub, merchants: allowed, endsAtMs: exp * 1_000 };
      known.set(token, caller);
      return caller;
    } catch {
      return null;
    }
  };
  return (token) => {
    const caller = known.get(token);
    return caller !== undefined && Date.now() < caller.endsAtMs ? caller : verify(token);
  };
}

function requireToken(app: FastifyInstance, settings: Settings): void {
  const verify = verifierOf(settings);
  app.decorateRequest('plainCaller', null);
  app.addHook('onRequest', (request, reply, done) => {
    if (request.routeOptions.url !== PATH) return done();
    const token = request.headers.authorization?.replace(/^Bearer +/i, '') ?? '';
    const accept = (caller: PlainCaller | null): void => {
      request.plainCaller = caller;
      if (caller === null) void reply.code(401).send({ code: 'ERR_UNAUTHENTICATED' });
      else done();
    };
    const caller = verify(token);
    if (caller instanceof Promise) void caller.then(accept);
    else accept(caller);
  });
}

async function start(settings: Settings): Promise<void> {
  const lane = settings.lanes.authorization;
  const { store, close } = await openPlainStore(lane);
  const groups = { count: 0, members: 0 };
  const committer = new GroupCommitter({
    store: new AuthorizationRepository(store),
    clock: systemClock,
    observer: {
      onGroup: (size) => {
        groups.count += 1;
        groups.members += size;
      },
    },
    limits: authorizationLimits,
    executionMsMax: lane.bulkhead.executionMsMax,
  });
  const app = Fastify({ logger: false, bodyLimit: 64 * 1_024, keepAliveTimeout: KEEP_ALIVE_MS });
  requireToken(app, settings);
  app.get(
    '/metrics',
    () => `authorization_group_size_sum ${groups.members}\nauthorization_group_size_count ${groups.count}\n`,
  );
  app.post<{ Body: CreateBody; Headers: { 'idempotency-key': string } }>(
    PATH,
    { schema: { body: bodySchema, headers: headersSchema, response: { 201: answerSchema } } },
    async (request, reply) => {
      const { body, plainCaller, headers } = request;
      if (plainCaller === null) throw new Error('A request without a caller');
      if (plainCaller.merchants !== '*' && !plainCaller.merchants.has(body.merchant_id)) {
        return reply.code(403).send({ code: 'ERR_FORBIDDEN' });
      }
      const caller = plainCaller.subject;
      const outcome = await committer.authorize({
        keyed: {
          scopeHash: scopeHashOf({ caller, method: 'POST', path: PATH, key: headers['idempotency-key'] }),
          payloadHash: payloadHashOf('POST', PATH, body),
        },
        caller,
        request: {
          merchantId: body.merchant_id,
          cardToken: body.card_token,
          amountMinor: body.amount_minor,
          currency: body.currency,
        },
      });
      if (outcome.kind !== 'answered') return reply.code(409).send({ code: outcome.kind });
      if (outcome.replayed) reply.header('Idempotency-Replayed', 'true');
      const answer = presentAuthorization(outcome.answer);
      return reply.code(201).header('Location', `${PATH}/${answer.id}`).send(answer);
    },
  );
  await app.listen({ host: settings.host, port: settings.port });
  stopWhenTold(async () => {
    await app.close();
    await close();
  });
  process.send?.({ type: 'ready' });
}

function stopWhenTold(stop: () => Promise<void>): void {
  let stopping = false;
  const end = (): void => {
    if (stopping) return;
    stopping = true;
    void stop().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  process.on('disconnect', end);
}

start(readProcessSettings(productVersion())).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
