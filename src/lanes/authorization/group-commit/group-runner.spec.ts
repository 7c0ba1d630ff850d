import {
  authorizationOfMember,
  committerHarness,
  keyedAuthorization,
  placeAll,
  postgresError,
  settle,
} from '../../../../test/fixtures/authorization-groups';
import { databaseProblems } from '../../../platform/database/database.problems';
import { PaymentError } from '../../../shared/problem';
import { groupFailureOf } from './group-failure';
import type { GroupFailure } from './group-store';
import type { Member } from './member';

/** A committer with both places in flight taken, so that what is asked next leaves as one group. */
async function groupOf(count: number, observer = {}, executionMsMax = 10_000) {
  const harness = committerHarness(observer, executionMsMax);
  const { ask, store } = harness;
  void ask('x');
  void ask('y');
  const answers = Array.from({ length: count }, (_, index) => ask(`card ${index}`, `own key ${index}`));
  await store.group(0).place();
  expect(store.group(2).members).toHaveLength(count);
  const end = async (): Promise<void> => {
    await store.group(1).place();
  };
  return { ...harness, answers, group: store.group(2), end };
}

function isPoisoned(...cards: number[]): (members: readonly Member[]) => boolean {
  return (members) => members.some(({ cardToken }) => cards.some((card) => cardToken === `card ${card}`));
}

describe('a faulty member', () => {
  it.each([
    [1, 1],
    [2, 3],
    [64, 13],
  ])('of a group of %i stands alone after %i statements; its companions commit', async (size, statements) => {
    const { answers, group, store } = await groupOf(size);
    const poisoned = isPoisoned(0);
    store.automatic = (members) => {
      if (poisoned(members)) throw postgresError('P0001');
      return placeAll(members);
    };
    await group.fail(postgresError('P0001'));
    const [first, ...companions] = await Promise.all(answers);
    expect(first).toBe('ERR_INTERNAL');
    expect(companions).toEqual(Array.from({ length: size - 1 }, () => 'answered'));
    expect(store.sent.length - 2).toBe(statements);
  });

  it('is every member of 64: 127 statements and no more', async () => {
    const { answers, group, store, committer } = await groupOf(64);
    store.automatic = () => {
      throw postgresError('22003');
    };
    await group.fail(postgresError('22003'));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['ERR_INTERNAL']));
    expect(store.sent.length - 2).toBe(127);
    await settle();
    expect(committer.groupsInFlight).toBe(1);
  });

  it('may be this side of the database too', async () => {
    const { answers, group } = await groupOf(1);
    await group.fail(new TypeError('a mistake'));
    expect(await answers[0]).toBe('ERR_INTERNAL');
  });
});

describe('a key that another process holds', () => {
  it('costs its companions one wait, after which the parts hardly wait at all', async () => {
    const { answers, group, store } = await groupOf(8);
    const held = isPoisoned(5);
    store.automatic = (members) => {
      if (held(members)) throw postgresError('55P03');
      return placeAll(members);
    };
    await group.fail(postgresError('55P03'));
    const outcomes = await Promise.all(answers);
    expect(outcomes.map((outcome, index) => (index === 5 ? '' : outcome))).toEqual([
      ...Array<string>(5).fill('answered'),
      '',
      'answered',
      'answered',
    ]);
    expect(outcomes[5]).toBe('in_flight');
    expect(store.sent.slice(2).map(({ lockWaitMsMax }) => lockWaitMsMax)).toEqual([null, 10, 10, 10, 10, 10, 10]);
  });
});

describe('a lost connection', () => {
  it('is tried again with the same rows, up to three times', async () => {
    const { answers, group, store, clock } = await groupOf(3);
    const rowIds = group.members.map(({ rowId }) => rowId);
    await group.fail(postgresError('57P01'));
    expect(store.sent).toHaveLength(3);
    for (const [retry, backOffMs] of [15, 60, 240].entries()) {
      clock.advance(backOffMs - 1);
      await settle();
      expect(store.sent).toHaveLength(3 + retry);
      clock.advance(1);
      await settle();
      expect(store.sent).toHaveLength(4 + retry);
      expect(store.group(3 + retry).members.map(({ rowId }) => rowId)).toEqual(rowIds);
      await store.group(3 + retry).fail(new Error('Connection terminated unexpectedly'));
    }
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['ERR_DATABASE_UNAVAILABLE']));
    expect(clock.armed).toBe(0);
  });

  it('whose statement had committed is found out by our own row, and is no replay', async () => {
    const { answers, group, store, clock } = await groupOf(2);
    const [ours, theirs] = group.members as [Member, Member];
    await group.fail(new Error('Connection terminated unexpectedly'));
    store.stored.set(ours.scope, {
      payloadHash: ours.authorization.keyed.payloadHash,
      authorization: authorizationOfMember(ours),
    });
    store.stored.set(theirs.scope, {
      payloadHash: theirs.authorization.keyed.payloadHash,
      authorization: { ...authorizationOfMember(theirs), rowId: 'another row' },
    });
    clock.advance(100);
    await settle();
    await store.group(3).answer(new Map(group.members.map((member) => [member, { kind: 'key_taken' as const }])));
    const answerOf = (member: Member): Promise<string> | undefined => answers[Number(member.cardToken.slice(5))];
    expect([await answerOf(ours), await answerOf(theirs)]).toEqual(['answered', 'replayed']);
    expect(store.lookUps).toBe(1);
  });

  it('is not tried again where the execution limit leaves no time', async () => {
    const { answers, group, store, clock } = await groupOf(2, {}, 1_000);
    clock.advance(600);
    await group.fail(postgresError('57P01'));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['ERR_DATABASE_UNAVAILABLE']));
    expect(store.sent).toHaveLength(3);
  });
});

describe('an exhausted pool', () => {
  it('refuses every member of the group as such, once', async () => {
    const { answers, group, store } = await groupOf(5);
    await group.fail(new PaymentError(databaseProblems.poolExhausted, 'none free'));
    expect(await Promise.all(answers)).toEqual(Array(5).fill('ERR_DATABASE_POOL_EXHAUSTED'));
    expect(store.sent).toHaveLength(3);
  });
});

describe('a statement that the server stopped', () => {
  it('is divided once where that fits the execution limit', async () => {
    const { answers, group, store, clock } = await groupOf(8, {}, 10_000);
    clock.advance(2_000);
    await group.fail(postgresError('57014'));
    expect(store.group(3).members).toHaveLength(4);
    await store.group(3).fail(postgresError('57014'));
    await store.group(4).place();
    expect(store.sent).toHaveLength(5);
    expect((await Promise.all(answers)).sort()).toEqual([
      ...Array<string>(4).fill('ERR_DATABASE_UNAVAILABLE'),
      ...Array<string>(4).fill('answered'),
    ]);
  });

  it('is not, where it does not', async () => {
    const { answers, group, store, clock } = await groupOf(8);
    clock.advance(9_500);
    await group.fail(postgresError('57014'));
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['ERR_DATABASE_UNAVAILABLE']));
    expect(store.sent).toHaveLength(3);
  });
});

describe('taken keys', () => {
  it('are answered from what stands under them, by key', async () => {
    const { answers, group, store } = await groupOf(4);
    const byCard = new Map(group.members.map((member) => [member.cardToken, member]));
    const member = (card: number): Member => byCard.get(`card ${card}`) as Member;
    store.stored.set(member(0).scope, {
      payloadHash: keyedAuthorization('', { cardToken: 'card 0' }).keyed.payloadHash,
      authorization: { ...authorizationOfMember(member(0)), rowId: 'the first', capturedMinor: 40 },
    });
    store.stored.set(member(1).scope, {
      payloadHash: Buffer.alloc(32),
      authorization: authorizationOfMember(member(1)),
    });
    // The third is not there (yet), the fourth was not answered at all: neither is assumed to have been placed.
    await group.answer(new Map([0, 1, 2].map((card) => [member(card), { kind: 'key_taken' as const }])));
    expect(await Promise.all(answers)).toEqual(['replayed', 'key_reused', 'in_flight', 'in_flight']);
  });

  it('refuse all when the look-up fails', async () => {
    const { answers, group, store, clock } = await groupOf(2);
    store.lookUpFailure = postgresError('57P01');
    await group.answer(new Map());
    for (let turn = 0; turn < 4; turn += 1) {
      clock.advance(500);
      await settle();
    }
    expect(await Promise.all(answers)).toEqual(['ERR_DATABASE_UNAVAILABLE', 'ERR_DATABASE_UNAVAILABLE']);
    expect(store.lookUps).toBe(4);
  });
});

it('tells its observer of groups, statements, locked cards and failures', async () => {
  const told: string[] = [];
  const { group, store, end } = await groupOf(2, {
    onGroup: (size: number) => told.push(`group ${size}`),
    onStatement: (ms: number) => told.push(`statement ${ms}`),
    onCardLocked: () => told.push('locked'),
    onFailure: (failure: GroupFailure) => told.push(failure),
  });
  told.length = 0;
  await group.fail(postgresError('23514'));
  await store.group(3).place([...store.group(3).cards]);
  await store.group(4).place();
  await end();
  expect(told).toEqual(['faulty', 'statement 0', 'statement 0', 'locked', 'statement 0', 'statement 0']);
});

it.each([
  [postgresError('55P03'), 'key_held'],
  [postgresError('57014'), 'statement_timeout'],
  [postgresError('40P01'), 'transient'],
  [postgresError('40001'), 'transient'],
  [postgresError('57P01'), 'transient'],
  [postgresError('57P03'), 'transient'],
  [postgresError('08006'), 'transient'],
  [postgresError('53300'), 'transient'],
  [postgresError('25006'), 'transient'],
  [postgresError('53200'), 'transient'],
  [new Error('Connection terminated unexpectedly'), 'transient'],
  [Object.assign(new Error('read'), { code: 'ECONNRESET' }), 'transient'],
  [new PaymentError(databaseProblems.unavailable, ''), 'transient'],
  [new PaymentError(databaseProblems.poolExhausted, ''), 'pool_exhausted'],
  [postgresError('22P02'), 'faulty'],
  [postgresError('23514'), 'faulty'],
  [postgresError('P0001'), 'faulty'],
  [new TypeError('x'), 'faulty'],
  [null, 'faulty'],
])('%s is %s', (error, failure) => {
  expect(groupFailureOf(error)).toBe(failure);
});
