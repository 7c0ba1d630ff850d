import { applyDecorators, Inject, type InjectionToken, Req, Res } from '@nestjs/common';
import { RouteConfig, RouteSchema } from '@nestjs/platform-fastify';
import { ApiBearerAuth, ApiBody, ApiHeader, ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { AdmissionInterceptor } from './admission.interceptor';
import { PROBLEM_CONTENT_TYPE } from './render-problem';
import type { RoutePolicy } from './route-policy';

/** Bodies of lane requests unless the route says otherwise (contract 7). */
export const BODY_BYTES_MAX_DEFAULT = 64 * 1024;

type ObjectSchema = z.ZodObject;
/** Unknown fields are refused everywhere (contract 7), in the query of a route that has none as well. */
const NO_QUERY = z.strictObject({});
type JsonSchema = Parameters<typeof ApiResponse>[0] extends infer Options
  ? Extract<Options, { schema: unknown }>['schema']
  : never;

export interface LaneRouteOptions extends Partial<RoutePolicy> {
  readonly lane: string;
  readonly scope: string;
  /** Zod schemas: they refuse before a permit is taken, and describe the route in the API reference. */
  readonly body?: z.ZodType;
  readonly query?: ObjectSchema;
  readonly params?: ObjectSchema;
  readonly summary?: string;
  /**
   * Which of the lane's {@link AdmissionInterceptor}s admits to the route: a lane with a second bulkhead has a second. Null
   * where a permit is not what bounds the route's callers: the lane's own gate does (contract 11).
   */
  readonly admission?: InjectionToken<AdmissionInterceptor> | null;
  /** Successful answers by status, for the API reference. */
  readonly answers?: Readonly<Record<number, z.ZodType>>;
}

function openApi(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { target: 'openapi-3.0', io, unrepresentable: 'any' });
  return rest as JsonSchema;
}

function describeMembers(schema: ObjectSchema | undefined, where: 'query' | 'params'): MethodDecorator[] {
  return Object.entries(schema?.shape ?? {}).map(([name, member]) => {
    const memberSchema = openApi(member as z.ZodType, 'input');
    return where === 'query'
      ? ApiQuery({ name, required: !(member as z.ZodType).safeParse(undefined).success, schema: memberSchema })
      : ApiParam({ name, schema: memberSchema });
  });
}

const problemSchema = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string' },
    lane: { type: 'string' },
    request_id: { type: 'string' },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { pointer: { type: 'string' }, detail: { type: 'string' } } },
    },
    retry: {
      type: 'object',
      properties: {
        after_seconds: { type: 'integer' },
        max_attempts: { type: 'integer' },
        jitter_seconds: { type: 'integer' },
      },
    },
  },
};

function describe(options: LaneRouteOptions, policy: RoutePolicy): MethodDecorator[] {
  return [
    ApiBearerAuth(),
    ApiOperation({ ...(options.summary !== undefined && { summary: options.summary }), tags: [policy.lane] }),
    ...(policy.idempotencyKey
      ? [ApiHeader({ name: 'Idempotency-Key', required: true, schema: { type: 'string', maxLength: 255 } })]
      : []),
    ...(options.body === undefined ? [] : [ApiBody({ schema: openApi(options.body, 'input') })]),
    ...describeMembers(options.query, 'query'),
    ...describeMembers(options.params, 'params'),
    ...Object.entries(options.answers ?? {}).map(([status, schema]) =>
      ApiResponse({ status: Number(status), schema: openApi(schema, 'output') }),
    ),
    ApiResponse({
      status: 'default',
      description: 'Any other answer is a problem document (RFC 9457)',
      content: { [PROBLEM_CONTENT_TYPE]: { schema: problemSchema } },
    }),
  ];
}

type Handler = (this: object, ...args: unknown[]) => unknown;

/**
 * Puts the lane's admission around a handler, which gets two more parameters behind its own: the request and the reply.
 * Being part of `LaneRoute`, it cannot be forgotten.
 */
function admitted(token: InjectionToken<AdmissionInterceptor>): MethodDecorator {
  return (controller, name, descriptor) => {
    const handler = descriptor.value as unknown as Handler;
    const requestAt = handler.length;
    const replyAt = requestAt + 1;
    const admission = Symbol(`admission of ${String(name)}`);
    Inject(token)(controller, admission);
    Req()(controller, name, requestAt);
    Res({ passthrough: true })(controller, name, replyAt);
    const guarded: Handler = function (...args) {
      const interceptor = (this as Record<symbol, AdmissionInterceptor>)[admission] as AdmissionInterceptor;
      return interceptor.intercept(args[requestAt] as FastifyRequest, args[replyAt] as FastifyReply, () =>
        handler.apply(this, args),
      );
    };
    for (const key of Reflect.getMetadataKeys(handler) as unknown[]) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), guarded);
    }
    (descriptor as PropertyDescriptor).value = guarded;
  };
}

/**
 * A route of a lane: admission, its policy for the edge, its schemas for Fastify's validation (before the permit, contract 4.2)
 * and its page in the API reference, said once. The lane's module provides the interceptor.
 *
 *     @Post()
 *     @LaneRoute({ lane: 'tax', scope: 'tax', idempotencyKey: true, body: quoteRequest })
 *     quote(@Body() body: QuoteRequest, @Req() request: FastifyRequest): Promise<QuoteAnswer> { … }
 */
export function LaneRoute(options: LaneRouteOptions): MethodDecorator {
  const policy: RoutePolicy = {
    lane: options.lane,
    scope: options.scope,
    idempotencyKey: options.idempotencyKey ?? false,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX_DEFAULT,
    merchantMember: options.merchantMember ?? null,
    gated: options.gated ?? false,
    bodyAsText: options.bodyAsText ?? false,
  };
  return applyDecorators(
    // First of all: what the others note, they note of the guarded handler.
    ...(options.admission === null ? [] : [admitted(options.admission ?? AdmissionInterceptor)]),
    RouteConfig({ policy }),
    RouteSchema({
      // Where the handler reads the text itself, the schema is for the API reference alone.
      ...(options.body !== undefined && !policy.bodyAsText && { body: options.body }),
      querystring: options.query ?? NO_QUERY,
      ...(options.params !== undefined && { params: options.params }),
    }),
    ...describe(options, policy),
  );
}
