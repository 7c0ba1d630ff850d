/** A member of at most one {@link IntrusiveList} at a time; it carries its own links. */
export class ListNode<N> {
  list: { remove(node: N): void } | null = null;
  previous: N | null = null;
  next: N | null = null;
}

/**
 * A doubly linked list whose members carry the links, so that one of them leaves from the middle in O(1) and
 * nothing is allocated. An abandoned waiter must not keep its place until the queue has moved past it (contract 4.5).
 */
export class IntrusiveList<N extends ListNode<N>> {
  head: N | null = null;
  #tail: N | null = null;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Throws if the node is in a list already: it would be counted twice. */
  push(node: N): void {
    if (node.list !== null) throw new Error('a node can be in one list only');
    node.list = this;
    node.previous = this.#tail;
    if (this.#tail === null) this.head = node;
    else this.#tail.next = node;
    this.#tail = node;
    this.#size += 1;
  }

  /** Throws if the node is not in this list: the links of another list would be torn. */
  remove(node: N): void {
    if (node.list !== this) throw new Error('the node is not in this list');
    if (node.previous === null) this.head = node.next;
    else node.previous.next = node.next;
    if (node.next === null) this.#tail = node.previous;
    else node.next.previous = node.previous;
    node.list = null;
    node.previous = null;
    node.next = null;
    this.#size -= 1;
  }

  /** Takes the oldest member out; null when empty. */
  shift(): N | null {
    const node = this.head;
    if (node !== null) this.remove(node);
    return node;
  }
}
