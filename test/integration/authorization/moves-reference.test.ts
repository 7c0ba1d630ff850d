import fc from 'fast-check';
import type { Client } from 'pg';
import type { MoveKind, MoveRecord } from '../../../src/lanes/authorization/moves/move';
import { addCards, addMerchants, tryUntilAnswered } from '../../fixtures/authorization-lane';
import { logEffects, takeEffects } from '../../fixtures/authorization-effects-log';
import {
  addAccounts,
  imbalances,
  letExpire,
  type MovesProcess,
  moveUntilAnswered,
  openMovesProcess,
  type Tamper,
} from '../../fixtures/authorization-moves';
import { ReferenceMoves } from '../../fixtures/authorization-moves-reference';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

/** Something that an actor does; `on` picks among what is there when its round begins. */
interface Act {
  readonly what: 'authorize' | MoveKind | 'time' | 'sweep';
  readonly on: number;
  /** Null: all that remains (reversals), else 1. */
  readonly amount: number | null;
  /** Sent twice at the same time, to one process each. */
  readonly twice: boolean;
}

const CARDS = 3;
const LIMIT = 100;

const act = fc.record<Act>({
  what: fc.constantFrom('authorize', 'capture', 'capture', 'reversal', 'refund', 'refund', 'time', 'sweep'),
  on: fc.nat({ max: 40 }),
  amount: fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 45 }) }, fc.constant(null)),
  twice: fc.constantFrom(false, false, false, true),
});
/** A round is done at the same time; the first one makes sure that there is something to move. */
const opening: Act[] = Array.from({ length: CARDS }, (_, on) => ({ what: 'authorize', on, amount: 40, twice: false }));
const oneByOne = fc.array(
  act.map((one) => [{ ...one, twice: false }]),
  { minLength: 5, maxLength: 25 },
);
const atOnce = fc.array(fc.array(act, { minLength: 2, maxLength: 16 }), { minLength: 2, maxLength: 6 });

let test: TestDatabase;
let owner: Client;
let one: MovesProcess;
let other: MovesProcess;
let runs = 0;
let timePasses = Promise.resolve();

beforeAll(async () => {
  test = await createTestDatabase();
  owner = await test.ownerClient('authorization');
  await addMerchants(owner, 'mer_a');
  await addAccounts(owner, 'USD', 'mer_a');
  await logEffects(owner);
  [one, other] = await Promise.all([
    openMovesProcess(test, { connections: 5 }),
    openMovesProcess(test, { connections: 5 }),
  ]);
});

/** One run: what there is, and what the reference makes of it. */
class Run {
  readonly reference = new ReferenceMoves();
  readonly #name = `run ${(runs += 1)}`;
  readonly #authorizations: string[] = [];
  readonly #captures: string[] = [];
  #acts = 0;

  constructor(private readonly processes: readonly [MovesProcess, MovesProcess]) {}

  async prepare(): Promise<void> {
    await takeEffects(owner);
    // What an earlier run left due would be swept along with this one's.
    await one.expiry.expire(1_000);
    await takeEffects(owner);
    for (let n = 0; n < CARDS; n += 1) {
      await addCards(owner, { token: this.#card(n), limitMinor: LIMIT });
      this.reference.addCard(this.#card(n), BigInt(LIMIT));
    }
  }

  async round(acts: readonly Act[], expectExactly: boolean): Promise<void> {
    const authorizations = [...this.#authorizations];
    const captures = [...this.#captures];
    const expected = expectExactly ? acts.map((asked) => this.#expected(asked, authorizations, captures)) : null;
    const ended = await Promise.allSettled(acts.map((asked, n) => this.#perform(asked, n, authorizations, captures)));
    const results = ended.map((end) => (end.status === 'fulfilled' ? end.value : `failed: ${String(end.reason)}`));
    // The database's own CHECK keeps the worst from happening; that it had to is a fault all the same.
    for (const result of results) if (/ERR_INTERNAL|failed/.test(result)) throw new Error(result);
    if (expected !== null) expect(results).toEqual(expected);
    for (const effect of await takeEffects(owner)) {
      this.reference.apply(effect);
      if (effect.kind === 'authorize' && effect.code === '00') this.#authorizations.push(effect.id);
      if (effect.kind === 'capture') this.#captures.push(effect.id);
    }
  }

  async end(): Promise<void> {
    const { rows } = await owner.query<{ id: string; sums: string }>(
      `SELECT a.id, concat_ws(' ', captured_minor, reversed_minor, expired_minor, refunded_minor) AS sums
       FROM authorizations a JOIN cards c ON c.id = a.card_id WHERE c.token LIKE $1 || ' %'`,
      [this.#name],
    );
    expect(Object.fromEntries(rows.map(({ id, sums }) => [id, sums]))).toEqual(this.reference.sums());
    const cards = await owner.query<{ token: string; open: string }>(
      `SELECT token, limit_minor - held_minor AS open FROM cards WHERE token LIKE $1 || ' %'`,
      [this.#name],
    );
    for (const { token, open } of cards.rows)
      expect([token, open]).toEqual([token, String(this.reference.openToBuy(token))]);
    expect(await imbalances(owner)).toEqual([]);
  }

  #card(n: number): string {
    return `${this.#name} ${n % CARDS}`;
  }

  #expected({ what, on, amount }: Act, authorizations: readonly string[], captures: readonly string[]): string {
    if (what === 'authorize') return this.reference.judge(this.#card(on), BigInt(amount ?? 1));
    if (what === 'sweep') return String(this.reference.due().length);
    const targets = what === 'refund' ? captures : authorizations;
    const target = targets[on % targets.length];
    if (target === undefined || what === 'time') return 'nothing';
    const asked = amount ?? (what === 'reversal' ? null : 1);
    return this.reference.verdict(what, target, asked === null ? null : BigInt(asked));
  }

  async #perform(
    { what, on, amount, twice }: Act,
    n: number,
    authorizations: readonly string[],
    captures: readonly string[],
  ): Promise<string> {
    const key = `${this.#name} ${(this.#acts += 1)}`;
    const [first, second] = n % 2 === 0 ? this.processes : [this.processes[1], this.processes[0]];
    if (what === 'authorize') {
      const request = { merchantId: 'mer_a', cardToken: this.#card(on), amountMinor: amount ?? 1, currency: 'USD' };
      return (await tryUntilAnswered(first.committer, key, request)).result;
    }
    if (what === 'sweep') {
      const sweeps = [first, second].slice(0, twice ? 2 : 1);
      const batches = await Promise.all(
        sweeps.map(({ expiry }) => expiry.expire(100).catch((error: unknown) => `failed: ${String(error)}`)),
      );
      const failed = batches.find((batch) => typeof batch === 'string');
      return typeof failed === 'string' ? failed : String((batches[0] as { expired: number }).expired);
    }
    const targets = what === 'refund' ? captures : authorizations;
    const target = targets[on % targets.length];
    if (target === undefined) return 'nothing';
    if (what === 'time') {
      // One after another, on the one connection that may do this.
      timePasses = timePasses.then(() => letExpire(owner, target));
      await timePasses;
      return 'nothing';
    }
    const asked = { kind: what, target, amount: amount ?? (what === 'reversal' ? null : 1), key };
    if (!twice) return (await moveUntilAnswered(first.runner, asked)).result;
    const [a, b] = await Promise.all([moveUntilAnswered(first.runner, asked), moveUntilAnswered(second.runner, asked)]);
    if (a.record !== null && b.record !== null) expect(withoutTime(a.record)).toEqual(withoutTime(b.record));
    const results = [a.result, b.result].sort();
    // A pair either takes effect once and is replayed, or is refused both times.
    if (results.join() !== 'moved,replayed' && results.some((result) => /moved|replayed/.test(result))) {
      throw new Error(`Twins were answered ${results.join()}`);
    }
    return a.result;
  }
}

/** The test alone changes when an authorization expires; an answer is rebuilt from columns that the lane cannot change. */
function withoutTime({ authorization: { expiresAt: _, ...authorization }, ...record }: MoveRecord): object {
  return { ...record, authorization };
}

function property(processes: readonly [MovesProcess, MovesProcess], rounds: fc.Arbitrary<Act[][]>, exactly: boolean) {
  return fc.asyncProperty(rounds, async (acts) => {
    const run = new Run(processes);
    await run.prepare();
    await run.round(opening, exactly);
    for (const round of acts) await run.round(round, exactly);
    await run.end();
  });
}

it('one by one, every move is answered as the reference answers it, and every sum is the reference’s', async () => {
  await fc.assert(property([one, other], oneByOne, true), { numRuns: 40, interruptAfterTimeLimit: 40_000 });
});

it('at once from two processes, everything that takes effect could have happened one by one', async () => {
  await fc.assert(property([one, other], atOnce, false), { numRuns: 40, interruptAfterTimeLimit: 40_000 });
});

describe('the properties notice', () => {
  async function isCaught(tamper: Tamper, rounds: fc.Arbitrary<Act[][]>, exactly: boolean): Promise<void> {
    let touched = 0;
    const counted: Tamper = (statement) => {
      const text = tamper(statement);
      if (text !== statement.text) touched += 1;
      return text;
    };
    const faulty = await openMovesProcess(test, { tamper: counted, connections: 5 });
    const { failed } = await fc.check(property([faulty, faulty], rounds, exactly), {
      numRuns: 200,
      endOnFailure: true,
      seed: 1,
    });
    expect(touched).toBeGreaterThan(0);
    expect(failed).toBe(true);
    // The next one begins with tables that agree.
    await owner.query(`TRUNCATE outbox, refunds, reversals, captures, authorizations, effects`);
    await owner.query(`UPDATE cards SET held_minor = 0`);
  }

  it('a status from a stale read: the authorization as the snapshot shows it, not as it is locked', async () => {
    await isCaught(
      ({ text }) => (text.includes('judged') ? text.replace(/FOR NO KEY UPDATE OF a(?: SKIP LOCKED)?/, '') : text),
      atOnce,
      false,
    );
  });

  it('a card that is not locked before its sum is worked out', async () => {
    await isCaught(({ text }) => text.replace(/FOR NO KEY UPDATE OF cards(?: SKIP LOCKED)?/, ''), atOnce, false);
  });

  it('a refund that does not free the hold', async () => {
    await isCaught(
      ({ text }) =>
        text.includes('refunded AS') ? text.replace('made.held_minor - made.moved_minor', 'made.held_minor') : text,
      oneByOne,
      true,
    );
  });

  it('a capture that ignores expiry', async () => {
    await isCaught(
      ({ name, text }) =>
        name.startsWith('authorization_capture')
          ? text.replace(
              /CASE\s+WHEN a\.response_code = '00' AND a\.expires_at <= now\(\)[\s\S]*?END AS expired_minor/,
              'a.expired_minor AS expired_minor',
            )
          : text,
      oneByOne,
      true,
    );
  });

  it('a double expiry: the refund frees the rest, but leaves it to the sweep to free again', async () => {
    await isCaught(({ text }) => text.replace(', expired_minor = made.expired_minor', ''), oneByOne, true);
  });

  it('a double expiry: two sweeps that do not look again at what they have locked', async () => {
    await isCaught(
      ({ name, text }) =>
        name.startsWith('authorization_expire')
          ? text
              .replace(
                /\s+WHERE response_code[^\n]*a\.expires_at <= now\(\)\s+FOR NO KEY UPDATE OF a(?: SKIP LOCKED)?/,
                '',
              )
              .replace(/FOR NO KEY UPDATE(?: SKIP LOCKED)?\n/, '\n')
          : text,
      fc
        .array(
          fc.tuple(
            fc.nat({ max: 40 }).map((on): Act[] => [{ what: 'time', on, amount: 1, twice: false }]),
            fc.constant<Act[]>([
              { what: 'sweep', on: 0, amount: 1, twice: true },
              { what: 'sweep', on: 0, amount: 1, twice: true },
            ]),
          ),
          { minLength: 3, maxLength: 6 },
        )
        .map((pairs) => pairs.flat()),
      false,
    );
  });
});
