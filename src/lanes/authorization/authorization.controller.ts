import { Body, Controller, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../../ingress/exchange';
import { keyedRequestOf, markReplayed, scopeHashOf } from '../../ingress/keyed-request';
import { LaneRoute } from '../../ingress/route';
import { presentAuthorization } from './authorization.presenter';
import {
  type AuthorizationAnswer,
  authorizationAnswerSchema,
  type CreateAuthorization,
  createAuthorizationSchema,
  type FindAuthorization,
  findAuthorizationQuery,
} from './authorization.schemas';
import { AuthorizationService } from './authorization.service';

const PATH = '/v1/authorizations';
const route = { lane: 'authorization', scope: 'authorizations' } as const;

@Controller(PATH)
export class AuthorizationController {
  constructor(private readonly service: AuthorizationService) {}

  @Post()
  @LaneRoute({
    ...route,
    idempotencyKey: true,
    merchantMember: 'merchant_id',
    body: createAuthorizationSchema,
    answers: { 201: authorizationAnswerSchema },
    summary: 'Checks a card and places a hold on it; declines are answers too',
  })
  async authorize(
    @Body() body: CreateAuthorization,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AuthorizationAnswer> {
    const { answer, replayed } = await this.service.authorize(callerOf(request), keyedRequestOf(request), {
      merchantId: body.merchant_id,
      cardToken: body.card_token,
      amountMinor: body.amount_minor,
      currency: body.currency,
    });
    const presented = presentAuthorization(answer);
    markReplayed(reply, replayed);
    reply.header('Location', `${PATH}/${presented.id}`);
    return presented;
  }

  @Get()
  @LaneRoute({
    ...route,
    query: findAuthorizationQuery,
    answers: { 200: authorizationAnswerSchema },
    summary: 'What became of the request that the same caller sent under a key',
  })
  async find(@Query() query: FindAuthorization, @Req() request: FastifyRequest): Promise<AuthorizationAnswer> {
    const caller = callerOf(request);
    const scopeHash = scopeHashOf({ caller: caller.subject, method: 'POST', path: PATH, key: query.idempotency_key });
    return presentAuthorization(await this.service.readByKey(caller, scopeHash));
  }

  @Get(':id')
  @LaneRoute({ ...route, answers: { 200: authorizationAnswerSchema }, summary: 'An authorization as it is now' })
  async read(@Param('id') id: string, @Req() request: FastifyRequest): Promise<AuthorizationAnswer> {
    return presentAuthorization(await this.service.read(callerOf(request), id));
  }
}
