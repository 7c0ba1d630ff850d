import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LaneRoute } from '../../ingress/route';
import { PaymentError } from '../../shared/problem';
import { IngestGate } from './bounds/ingest-gate';
import { resultOf } from './doors/batch-results';
import { itemProblems } from './doors/item-problems';
import { type ItemResult, LedgerDoors } from './doors/ledger-doors';
import type { FailedOutcome } from './ledger';
import { batchResultSchema, batchSchema, entryResultSchema, itemSchema } from './ledger.schemas';

/** Contract 7 and 11; the doors themselves are given theirs by the lane table. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
export const BATCH_ITEMS_MAX = 5_000;
const JSON_CONTENT_TYPE = 'application/json; charset=utf-8';

const door = { lane: 'ledger', scope: 'ledger', admission: null, gated: true, bodyAsText: true } as const;

/**
 * The doors of ingest. They take no permit: those of this lane are its flushes, and what bounds its callers is the room
 * in the buffer, asked for before a body is read and again for the items that were read (contract 3, 11).
 */
@Controller('/v1/ledger')
export class LedgerController {
  constructor(
    private readonly doors: LedgerDoors,
    private readonly gate: IngestGate,
  ) {}

  @Post('batches')
  @HttpCode(207)
  @LaneRoute({
    ...door,
    bodyBytesMax: BATCH_BYTES_MAX,
    body: batchSchema(BATCH_ITEMS_MAX),
    answers: { 207: batchResultSchema },
    summary: 'Posts up to 5,000 items, each with an outcome of its own',
  })
  async batch(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<string> {
    const body = await this.gate.hold(request, (text, caller) => this.doors.batch(text, caller));
    reply.header('content-type', JSON_CONTENT_TYPE);
    return body;
  }

  @Post('entries')
  @LaneRoute({
    ...door,
    body: itemSchema,
    answers: { 200: entryResultSchema, 201: entryResultSchema },
    summary: 'Posts one item; 200 where it is in the journal already',
  })
  async entry(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<unknown> {
    const result = await this.gate.hold(request, (text, caller) => this.doors.entry(text, caller));
    const { itemId, outcome } = result;
    if (outcome.status === 'FAILED') throw failureOf(result, outcome);
    reply.status(outcome.duplicate ? 200 : 201);
    return resultOf(itemId, outcome);
  }
}

function failureOf({ itemId }: ItemResult, { code, detail, pointer, retryable }: FailedOutcome): PaymentError {
  return new PaymentError(itemProblems[code], detail, {
    ...(pointer !== undefined && { errors: [{ pointer, detail }] }),
    members: { item_id: itemId, retryable },
  });
}
