import { Body, Controller, Get, HttpCode, Param, Post, Req, Res, UseGuards } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { callerOf, executionOf } from '../../ingress/exchange';
import { keyedRequestOf, markReplayed } from '../../ingress/keyed-request';
import { LaneRoute } from '../../ingress/route';
import { CompensationGuard } from './compensation.guard';
import { presentQuote, presentReconciled } from './tax.presenter';
import {
  estimateAnswerSchema,
  type QuoteAnswer,
  quoteAnswerSchema,
  type QuoteRequestBody,
  quoteRequestOf,
  quoteRequestSchema,
  type ReconciledEstimateAnswer,
  reconciledEstimateAnswerSchema,
} from './tax.schemas';
import { TaxService } from './tax.service';

const route = { lane: 'tax', scope: 'tax' } as const;

@Controller('/v1/tax/quotes')
@UseGuards(CompensationGuard)
export class TaxController {
  constructor(private readonly service: TaxService) {}

  @Post()
  @HttpCode(200)
  @LaneRoute({
    ...route,
    idempotencyKey: true,
    body: quoteRequestSchema,
    answers: { 200: z.union([quoteAnswerSchema, estimateAnswerSchema]) },
    summary:
      'The tax on an order. Where the provider gives none, 503 with a certified estimate as `compensation`, or that ' +
      'estimate as 200 with `Prefer: handling=lenient`',
  })
  async quote(
    @Body() body: QuoteRequestBody,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<QuoteAnswer> {
    const { answer, replayed } = await this.service.quote({
      caller: callerOf(request).subject,
      keyed: keyedRequestOf(request),
      request: quoteRequestOf(body),
      signal: executionOf(request).signal,
    });
    markReplayed(reply, replayed);
    return presentQuote(answer);
  }

  @Get(':id')
  @LaneRoute({
    ...route,
    answers: { 200: z.union([quoteAnswerSchema, reconciledEstimateAnswerSchema]) },
    summary: 'A quote, or an estimate and what the provider said later, to the caller that was given it',
  })
  async read(@Param('id') id: string, @Req() request: FastifyRequest): Promise<QuoteAnswer | ReconciledEstimateAnswer> {
    const found = await this.service.read(callerOf(request).subject, id);
    return 'quote' in found ? presentQuote(found) : presentReconciled(found);
  }
}
