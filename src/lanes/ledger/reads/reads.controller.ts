import { Controller, Get, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../../../ingress/exchange';
import { LaneRoute } from '../../../ingress/route';
import { LaneDatabase } from '../../../platform/database/lane-database';
import { EntryReader } from './entry.reader';
import type { Entry } from './entry.repository';
import {
  type EntriesAnswer,
  entriesAnswerSchema,
  type EntryAnswer,
  type FindEntries,
  findEntriesQuery,
  trialBalanceSchema,
} from './reads.schemas';
import { type TrialBalance, trialBalance } from './trial-balance';

const route = { lane: 'ledger', scope: 'ledger' } as const;

/** What the journal says; under the permits of the lane's reads, so that ingest and reads never wait for each other. */
@Controller('/v1/ledger')
export class ReadsController {
  constructor(
    private readonly reader: EntryReader,
    private readonly store: LaneDatabase,
  ) {}

  @Get('entries')
  @LaneRoute({
    ...route,
    query: findEntriesQuery,
    answers: { 200: entriesAnswerSchema },
    summary: 'Entries of an account in pages that skip no late commit, or that of one transaction',
  })
  async entries(@Query() query: FindEntries, @Req() request: FastifyRequest): Promise<EntriesAnswer> {
    const { account_id: accountId, merchant_id: merchantId, external_transaction_id: transactionId } = query;
    const caller = callerOf(request);
    const page =
      accountId !== undefined
        ? await this.reader.ofAccount(caller, accountId, BigInt(query.cursor ?? 0))
        : await this.reader.ofTransaction(caller, merchantId ?? '', transactionId ?? '');
    return { entries: page.entries.map(presentEntry), next_cursor: page.next };
  }

  @Get('trial-balance')
  @LaneRoute({
    ...route,
    answers: { 200: trialBalanceSchema },
    summary: 'Whether the books balance, by every row of them',
  })
  balance(): Promise<TrialBalance> {
    return trialBalance(this.store);
  }
}

function presentEntry(entry: Entry): EntryAnswer {
  const { accountId, clearingAccountId } = entry;
  const sale = entry.type === 'SALE';
  return {
    ledger_entry_id: `ent_${entry.id}`,
    merchant_id: entry.merchantId,
    external_transaction_id: entry.externalTransactionId,
    account_id: accountId,
    type: entry.type,
    debit_account_id: sale ? clearingAccountId : accountId,
    credit_account_id: sale ? accountId : clearingAccountId,
    amount_minor: entry.amountMinor,
    currency: entry.currency,
    occurred_at: entry.occurredAt,
    recorded_at: entry.recordedAt,
  };
}
