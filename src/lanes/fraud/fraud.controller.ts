import { Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf, exchangeOf } from '../../ingress/exchange';
import { markReplayed } from '../../ingress/keyed-request';
import { LaneRoute } from '../../ingress/route';
import { EvaluationTasks } from './evaluation-task';
import { presentEvaluation } from './fraud.presenter';
import {
  completedAnswerSchema,
  createEvaluationSchema,
  type EvaluationAnswer,
  evaluationAnswerSchema,
  queuedAnswerSchema,
} from './fraud.schemas';
import { FraudService } from './fraud.service';

export const EVALUATIONS_PATH = '/v1/fraud/evaluations';
const route = { lane: 'fraud', scope: 'fraud' } as const;

@Controller(EVALUATIONS_PATH)
export class FraudController {
  constructor(
    private readonly service: FraudService,
    private readonly tasks: EvaluationTasks,
  ) {}

  @Post()
  @LaneRoute({
    ...route,
    idempotencyKey: true,
    merchantMember: 'merchant_id',
    body: createEvaluationSchema,
    answers: { 200: completedAnswerSchema, 202: queuedAnswerSchema },
    summary: 'Scores a payment and says why; 202 where the lane is full and the score comes later',
  })
  async evaluate(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EvaluationAnswer> {
    const declaredRetry = (exchangeOf(request).declaredAttempt ?? 0) > 0;
    const { evaluation, replayed } = await this.service.evaluate(this.tasks.of(request), declaredRetry);
    markReplayed(reply, replayed);
    reply.status(evaluation.status === 'QUEUED' ? 202 : 200);
    reply.header('Location', `${EVALUATIONS_PATH}/${evaluation.id}`);
    return presentEvaluation(evaluation);
  }

  @Get(':id')
  @LaneRoute({
    ...route,
    answers: { 200: evaluationAnswerSchema },
    summary: 'An evaluation of the same caller: its result, or that it waits',
  })
  async read(@Param('id') id: string, @Req() request: FastifyRequest): Promise<EvaluationAnswer> {
    return presentEvaluation(await this.service.read(callerOf(request), id));
  }
}
