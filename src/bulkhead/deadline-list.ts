import { IntrusiveList, ListNode } from './intrusive-list';

export class DeadlineNode<N> extends ListNode<N> {
  /** When the node joined the {@link DeadlineList} it was put into last, on that list's clock. */
  joinedMs = 0;
  /** When its time there is over. */
  deadlineMs = 0;
}

/**
 * Members that all wait for the same length of time. Because that length is constant, the order of arrival is the
 * order of the deadlines: no heap and no timer per member, the head alone says when to wake up.
 */
export class DeadlineList<N extends DeadlineNode<N>> extends IntrusiveList<N> {
  constructor(readonly delayMs: number) {
    super();
  }

  append(node: N, nowMs: number): void {
    node.joinedMs = nowMs;
    node.deadlineMs = nowMs + this.delayMs;
    this.push(node);
  }

  /** The next deadline, `Infinity` when there is none. */
  get earliestMs(): number {
    return this.head === null ? Infinity : this.head.deadlineMs;
  }

  /** Takes out the oldest member whose deadline has come; null when none is due. */
  shiftDue(nowMs: number): N | null {
    return this.earliestMs <= nowMs ? this.shift() : null;
  }
}
