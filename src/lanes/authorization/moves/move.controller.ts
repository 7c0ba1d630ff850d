import { Body, Controller, Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../../../ingress/exchange';
import { keyedRequestOf, markReplayed } from '../../../ingress/keyed-request';
import { LaneRoute } from '../../../ingress/route';
import type { MoveRecord } from './move';
import { presentCapture, presentNewCapture, presentRefund, presentReversal } from './move.presenter';
import {
  type CaptureAnswer,
  captureAnswerSchema,
  type CreateCapture,
  createCaptureSchema,
  type CreateRefund,
  createRefundSchema,
  type CreateReversal,
  createReversalSchema,
  type RefundAnswer,
  refundAnswerSchema,
  type ReversalAnswer,
  reversalAnswerSchema,
} from './move.schemas';
import { type AskedMove, MoveService } from './move.service';

const read = { lane: 'authorization', scope: 'authorizations' } as const;
const move = { ...read, idempotencyKey: true } as const;

/** What becomes of an authorization: captures, reversals and refunds (contract 9). */
@Controller('/v1')
export class MoveController {
  constructor(private readonly service: MoveService) {}

  @Post('authorizations/:id/captures')
  @LaneRoute({
    ...move,
    body: createCaptureSchema,
    answers: { 201: captureAnswerSchema },
    summary: 'Captures a part of what remains of an authorization, or all of it',
  })
  async capture(
    @Param('id') targetId: string,
    @Body() body: CreateCapture,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<CaptureAnswer> {
    const asked: AskedMove = { kind: 'capture', targetId, amountMinor: body.amount_minor };
    const presented = presentNewCapture(await this.make(asked, request, reply));
    reply.header('Location', `/v1/captures/${presented.id}`);
    return presented;
  }

  @Post('authorizations/:id/reversals')
  @LaneRoute({
    ...move,
    body: createReversalSchema,
    answers: { 201: reversalAnswerSchema },
    summary: 'Gives a part of what remains of an authorization back to the card, or all of it',
  })
  async reverse(
    @Param('id') targetId: string,
    @Body() body: CreateReversal,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ReversalAnswer> {
    const asked: AskedMove = { kind: 'reversal', targetId, amountMinor: body.amount_minor ?? null };
    return presentReversal(await this.make(asked, request, reply));
  }

  @Post('captures/:id/refunds')
  @LaneRoute({
    ...move,
    body: createRefundSchema,
    answers: { 201: refundAnswerSchema },
    summary: 'Refunds a part of a capture, or all of it',
  })
  async refund(
    @Param('id') targetId: string,
    @Body() body: CreateRefund,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RefundAnswer> {
    const asked: AskedMove = { kind: 'refund', targetId, amountMinor: body.amount_minor };
    return presentRefund(await this.make(asked, request, reply));
  }

  @Get('captures/:id')
  @LaneRoute({ ...read, answers: { 200: captureAnswerSchema }, summary: 'A capture as it is now' })
  async readCapture(@Param('id') id: string, @Req() request: FastifyRequest): Promise<CaptureAnswer> {
    return presentCapture(await this.service.readCapture(callerOf(request), id));
  }

  private async make(asked: AskedMove, request: FastifyRequest, reply: FastifyReply): Promise<MoveRecord> {
    const { answer, replayed } = await this.service.move(callerOf(request), keyedRequestOf(request), asked);
    markReplayed(reply, replayed);
    return answer;
  }
}
