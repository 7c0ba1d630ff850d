import { committerHarness, keyedAuthorization, placeAll, settle } from '../../../../test/fixtures/authorization-groups';

function cards(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => `card ${from + index}`);
}

describe('groups', () => {
  it('leave at once while fewer than two are in flight', () => {
    const { ask, store, committer } = committerHarness();
    void ask('a');
    expect(store.sent.map((group) => group.cards)).toEqual([['a']]);
    void ask('b');
    expect(store.sent.map((group) => group.cards)).toEqual([['a'], ['b']]);
    void ask('c');
    void ask('d');
    expect(store.sent).toHaveLength(2);
    expect(committer.groupsInFlight).toBe(2);
  });

  it('take all who wait when one in flight ends', async () => {
    const { ask, store } = committerHarness();
    for (const card of ['a', 'b', 'c', 'd', 'e']) void ask(card);
    await store.group(1).place();
    expect(store.sent).toHaveLength(3);
    expect([...store.group(2).cards].sort()).toEqual(['c', 'd', 'e']);
  });

  it.each([
    [63, [63]],
    [64, [64]],
    [65, [64, 1]],
  ])('of %i waiting members are %j', async (waiting, sizes) => {
    const { ask, store } = committerHarness();
    void ask('first');
    void ask('second');
    const answers = cards(waiting).map((card) => ask(card));
    await store.group(0).place();
    await store.group(1).place();
    expect(store.sent.slice(2).map(({ members }) => members.length)).toEqual(sizes);
    for (const group of store.sent.slice(2)) await group.place();
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['answered']));
  });

  it('are sorted by scope hash', async () => {
    const { ask, store } = committerHarness();
    for (const card of cards(40)) void ask(card);
    await store.group(0).place();
    const hashes = store.group(2).members.map(({ authorization }) => authorization.keyed.scopeHash);
    expect(hashes.length).toBe(38);
    expect([...hashes].sort(Buffer.compare)).toEqual(hashes);
  });

  it.each([
    [4_999, 'answered', 3],
    [5_000, 'ERR_DATABASE_UNAVAILABLE', 2],
  ])('a member whose turn comes after %i ms of a 10 s limit is %s', async (waitedMs, outcome, groups) => {
    const { ask, store, clock, committer } = committerHarness({}, 10_000);
    void ask('a');
    void ask('b');
    const late = ask('a');
    clock.advance(waitedMs);
    await store.group(0).place();
    expect(store.sent).toHaveLength(groups);
    if (groups === 3) await store.group(2).place();
    expect(await late).toBe(outcome);
    await store.group(1).place();
    expect([committer.pending, committer.groupsInFlight]).toEqual([0, 0]);
  });

  it('refuse a whole line that has waited too long, and take the next newcomer of its card', async () => {
    const { ask, store, clock, committer } = committerHarness({}, 10_000);
    void ask('a');
    void ask('b');
    const late = [ask('a'), ask('a'), ask('b')];
    clock.advance(6_000);
    await store.group(0).place();
    await store.group(1).place();
    expect(new Set(await Promise.all(late))).toEqual(new Set(['ERR_DATABASE_UNAVAILABLE']));
    expect(committer.pending).toBe(0);
    const next = ask('a');
    await store.group(2).place();
    expect(await next).toBe('answered');
  });

  it('set no timer and keep nothing when all is answered', async () => {
    const { ask, store, clock, committer } = committerHarness();
    const answers = ['a', 'b', 'a'].map((card) => ask(card));
    await store.group(0).place();
    await store.group(1).place();
    await store.group(2).place();
    expect(await Promise.all(answers)).toEqual(['answered', 'answered', 'answered']);
    expect([clock.scheduledTotal, committer.pending, committer.groupsInFlight]).toEqual([0, 0, 0]);
  });
});

describe('a card', () => {
  it('is in one group at a time, and its members go first come first served', async () => {
    const { ask, store } = committerHarness();
    void ask('hot', 'h1');
    void ask('hot', 'h2');
    void ask('hot', 'h3');
    expect(store.sent).toHaveLength(1);
    void ask('cold');
    void ask('warm');
    expect(store.sent.map((group) => group.cards)).toEqual([['hot'], ['cold']]);
    await store.group(1).place();
    // "hot" is still in flight, so only "warm" goes.
    expect(store.group(2).cards).toEqual(['warm']);
    await store.group(0).place();
    await store.group(3).place();
    await store.group(4).place();
    const order = store.sent.flatMap(({ members }) => members).filter(({ cardToken }) => cardToken === 'hot');
    expect(order.map(({ scope }) => scope)).toEqual(
      ['h1', 'h2', 'h3'].map((key) => keyedAuthorization(key).keyed.scopeHash.toString('latin1')),
    );
  });

  it('has at most 8 executions; the 9th is busy at once', async () => {
    const { ask, store, committer } = committerHarness();
    const first = Array.from({ length: 8 }, () => ask('hot'));
    expect(await ask('hot')).toBe('ERR_CARD_BUSY');
    expect(committer.pending).toBe(8);
    await store.group(0).place();
    // One has its answer, so one may come again.
    const ninth = ask('hot');
    expect(await ask('hot')).toBe('ERR_CARD_BUSY');
    for (let n = 1; n < 9; n += 1) await store.group(n).place();
    expect(new Set(await Promise.all([...first, ninth]))).toEqual(new Set(['answered']));
  });

  it('that is hot leaves the group to others', async () => {
    const { ask, store } = committerHarness();
    void ask('x');
    void ask('y');
    for (let n = 0; n < 8; n += 1) void ask('hot');
    for (const card of cards(10)) void ask(card);
    await store.group(0).place();
    expect(store.group(2).cards.filter((card) => card === 'hot')).toHaveLength(1);
    expect(store.group(2).members).toHaveLength(11);
  });
});

describe('a card locked elsewhere', () => {
  it('is left out by its companions and tried again after 5 ms', async () => {
    const { ask, store, clock } = committerHarness();
    const occupied = ask('x');
    const locked = ask('locked');
    const companion = ask('free');
    await store.group(0).place();
    expect(await occupied).toBe('answered');
    await store.group(1).place(['locked']);
    await store.group(2).place();
    expect(await companion).toBe('answered');
    clock.advance(4);
    expect(store.sent).toHaveLength(3);
    clock.advance(1);
    expect(store.sent).toHaveLength(4);
    await store.group(3).place();
    expect(await locked).toBe('answered');
    expect(clock.armed).toBe(0);
  });

  it.each([
    [94, 'answered'],
    [96, 'ERR_CARD_BUSY'],
  ])('and freed after %i ms, its last try being made after 95: %s', async (freedAfterMs, expected) => {
    const { ask, store, clock, committer } = committerHarness();
    let locked = true;
    store.automatic = (members) => placeAll(members, locked ? ['locked'] : []);
    const answer = ask('locked');
    for (let ms = 0; ms < 110; ms += 1) {
      await settle();
      if (ms === freedAfterMs) locked = false;
      clock.advance(1);
    }
    expect(await answer).toBe(expected);
    expect([committer.pending, clock.armed]).toEqual([0, 0]);
    expect(store.sent.length).toBe(20);
  });

  it('is given up after exactly 100 ms and not before', async () => {
    const { ask, store, clock } = committerHarness();
    store.automatic = (members) => new Map(members.map((member) => [member, { kind: 'card_locked' as const }]));
    let answer = 'none';
    void ask('locked').then((given) => (answer = given));
    const passMs = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 1) {
        await settle();
        clock.advance(1);
      }
      await settle();
    };
    await passMs(99);
    expect(answer).toBe('none');
    await passMs(1);
    expect(answer).toBe('ERR_CARD_BUSY');
  });

  it('costs a member only the time that it waited itself', async () => {
    const { ask, store, clock } = committerHarness();
    store.automatic = (members) => new Map(members.map((member) => [member, { kind: 'card_locked' as const }]));
    const answers: string[] = [];
    void ask('locked').then((given) => answers.push(`first ${given}`));
    for (let ms = 0; ms < 60; ms += 1) {
      await settle();
      clock.advance(1);
    }
    void ask('locked').then((given) => answers.push(`second ${given}`));
    for (let ms = 60; ms < 100; ms += 1) {
      await settle();
      clock.advance(1);
    }
    await settle();
    expect(answers).toEqual(['first ERR_CARD_BUSY']);
    for (let ms = 100; ms < 159; ms += 1) {
      await settle();
      clock.advance(1);
    }
    await settle();
    expect(answers).toHaveLength(1);
    clock.advance(1);
    await settle();
    expect(answers).toEqual(['first ERR_CARD_BUSY', 'second ERR_CARD_BUSY']);
    expect(clock.armed).toBe(0);
  });
});

describe('twins in one process', () => {
  it('share one member and its answer', async () => {
    const { ask, store } = committerHarness();
    const first = ask('a', 'same');
    const twin = ask('a', 'same');
    expect(store.sent).toHaveLength(1);
    await store.group(0).place();
    expect(await Promise.all([first, twin])).toEqual(['answered', 'replayed']);
    expect(store.sent).toHaveLength(1);
  });

  it('with other payloads, on other cards too, never meet in a statement', async () => {
    const { ask, store } = committerHarness();
    const first = ask('a', 'same', 100);
    expect(await ask('b', 'same', 100)).toBe('in_flight');
    expect(await ask('a', 'same', 101)).toBe('in_flight');
    await store.group(0).place();
    expect(await first).toBe('answered');
  });
});
