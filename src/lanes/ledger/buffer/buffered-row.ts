import { DeadlineNode } from '../../../bulkhead/deadline-list';
import { ListNode } from '../../../bulkhead/intrusive-list';
import type { ItemOutcome, LedgerItem, OutcomeListener } from '../ledger';
import type { PendingRow } from '../write/journal';
import type { CallerShare } from './room';

/** One admitted item, waiting for its outcome. */
export class Member extends DeadlineNode<Member> {
  /** The row that decides; a rival's may change. */
  row: BufferedRow | null = null;
  answered = false;

  constructor(
    readonly item: LedgerItem,
    readonly share: CallerShare,
    readonly index: number,
    readonly listener: OutcomeListener,
  ) {
    super();
  }
}

/**
 * One row of the journal to be, and all who wait for it. Items of this process with the same key share it: the same
 * payload is answered with the row; another payload, and whatever comes after it, waits to see what becomes of the row
 * (contract 11), so that the answers are those of one item after another.
 */
export class BufferedRow extends ListNode<BufferedRow> implements PendingRow {
  readonly item: LedgerItem;
  readonly #members: Member[];
  readonly #onSettled: (row: BufferedRow, outcome: ItemOutcome) => void;
  #rivals: Member[] | null = null;
  #waitingMembers: number;
  #settled = false;
  inDoubt = false;

  constructor(first: Member, onSettled: (row: BufferedRow, outcome: ItemOutcome) => void) {
    super();
    this.item = first.item;
    this.#members = [first];
    this.#waitingMembers = 1;
    this.#onSettled = onSettled;
    first.row = this;
  }

  /** Since when its oldest item waits. */
  get waitingSinceMs(): number {
    return this.#members[0]?.joinedMs ?? 0;
  }

  /** In the order of their admission, the first one included; some may have been answered. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** Items behind the row that wait for its end, in the order of their admission. */
  get rivals(): readonly Member[] {
    return this.#rivals ?? [];
  }

  /** Members that wait for an answer; rivals do not count. */
  get waitingMembers(): number {
    return this.#waitingMembers;
  }

  get wanted(): boolean {
    return !this.#settled && this.#waitingMembers > 0;
  }

  /**
   * @returns true where the item is a twin: of the row's payload, and not behind one of another payload, whose turn
   *   would come before its own.
   */
  join(member: Member): boolean {
    member.row = this;
    if (this.#rivals === null && this.isOfPayload(member.item)) {
      this.#members.push(member);
      this.#waitingMembers += 1;
      return true;
    }
    this.#rivals ??= [];
    this.#rivals.push(member);
    return false;
  }

  isOfPayload(item: LedgerItem): boolean {
    return isSamePayload(this.item, item);
  }

  /** A member was answered without the row. @returns false where it was a rival. */
  leave(member: Member): boolean {
    if (this.#rivals?.includes(member)) return false;
    this.#waitingMembers -= 1;
    return true;
  }

  /** The first word stands; whoever has a second one has lost count of its rows, and changes nothing. */
  settle(outcome: ItemOutcome): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#onSettled(this, outcome);
  }
}

function isSamePayload(one: LedgerItem, other: LedgerItem): boolean {
  return (
    one.accountId === other.accountId &&
    one.type === other.type &&
    one.amountMinor === other.amountMinor &&
    one.currency === other.currency &&
    one.occurredAtMicros === other.occurredAtMicros
  );
}
