import { Body, Controller, Get, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { LaneRoute } from '../../../ingress/route';
import { PaymentError } from '../../../shared/problem';
import { isStorableText, TEXT_LENGTH_MAX } from '../items/item-form';
import { ledgerProblems } from '../ledger.problems';
import { type Account, AccountRepository } from './account.repository';
import { type AccountAnswer, accountAnswerSchema, type OpenAccount, openAccountSchema } from './accounts.schemas';

const PATH = '/v1/ledger/accounts';
const route = { lane: 'ledger', scope: 'ledger' } as const;

/** Accounts, under the permits of the lane's reads: opening one is rare, and no flush. */
@Controller(PATH)
export class AccountsController {
  constructor(private readonly accounts: AccountRepository) {}

  @Post()
  @LaneRoute({
    ...route,
    body: openAccountSchema,
    answers: { 200: accountAnswerSchema, 201: accountAnswerSchema },
    summary: 'Opens an account; 200 where it is open in this currency already',
  })
  async open(@Body() body: OpenAccount, @Res({ passthrough: true }) reply: FastifyReply): Promise<AccountAnswer> {
    const { account_id: accountId, currency } = body;
    // Looked for first: opening takes a number, whether or not the account is there.
    const known = await this.accounts.find(accountId);
    const opened = known === null && (await this.accounts.open(accountId, currency));
    const account = known ?? (await this.accounts.find(accountId));
    if (account === null) throw new Error('An account that was opened is not there');
    if (account.currency !== currency) {
      throw new PaymentError(ledgerProblems.accountExists, 'An account has one currency, for ever.');
    }
    reply.status(opened ? 201 : 200).header('Location', `${PATH}/${encodeURIComponent(accountId)}`);
    return presentAccount(account);
  }

  @Get(':id')
  @LaneRoute({ ...route, answers: { 200: accountAnswerSchema }, summary: 'An account and its balance' })
  async read(@Param('id') id: string): Promise<AccountAnswer> {
    const account = isStorableText(id, TEXT_LENGTH_MAX.account_id) ? await this.accounts.find(id) : null;
    if (account === null) throw new PaymentError(ledgerProblems.notFound, 'There is no such account.');
    return presentAccount(account);
  }
}

function presentAccount({ created_at: createdAt, ...members }: Account): AccountAnswer {
  const { account_id, currency, status, balance, debits, credits } = members;
  return { account_id, currency, status, balance, debits, credits, created_at: createdAt.toISOString() };
}
