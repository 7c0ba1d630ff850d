import type { Member } from './member';

/** The members of one card, first come first served; at most one of them is in a group at a time. */
export class CardLine {
  /** Members without an answer, oldest first; the one in a group is the first until it has its answer. */
  readonly members: Member[] = [];
  /** One of its members is in a group that has not ended, though that member may have its answer already. */
  inGroup = false;
  /** Found locked by another session, and not tried again before a pause is over. */
  pausing = false;
  /** Since when the card was found locked each time it was tried; null while it is free. */
  lockedSinceMs: number | null = null;

  constructor(readonly cardToken: string) {}
}

/** A card's turn in a group. */
export interface Turn {
  readonly line: CardLine;
  readonly member: Member;
}

/**
 * Who waits, by card. A card is ready while it has members and none of them is in a group or pausing; groups take ready
 * cards in the order in which they became so. A card with many members therefore never holds up the others.
 */
export class CardLines {
  readonly #lines = new Map<string, CardLine>();
  /** In order of readiness: a Set keeps insertion order and takes from its front in constant time. */
  readonly #ready = new Set<CardLine>();
  readonly #perCardMax: number;

  constructor(perCardMax: number) {
    this.#perCardMax = perCardMax;
  }

  get ready(): number {
    return this.#ready.size;
  }

  /** Cards somebody waits for. */
  get size(): number {
    return this.#lines.size;
  }

  /** False where the card has its full number of executions already (contract 9). */
  add(member: Member): boolean {
    let line = this.#lines.get(member.cardToken);
    if (line === undefined) {
      line = new CardLine(member.cardToken);
      this.#lines.set(member.cardToken, line);
    }
    if (line.members.length >= this.#perCardMax) return false;
    line.members.push(member);
    this.update(line);
    return true;
  }

  /** Takes up to `sizeMax` ready cards into a group, in order of their readiness. */
  take(sizeMax: number): Turn[] {
    const turns: Turn[] = [];
    for (const line of this.#ready) {
      if (turns.length === sizeMax) break;
      const member = line.members[0];
      if (member === undefined) throw new Error('A card is ready although nobody waits for it');
      this.#ready.delete(line);
      line.inGroup = true;
      turns.push({ line, member });
    }
    return turns;
  }

  /** Takes out a member that has its answer: always the oldest of its card. */
  remove(member: Member): void {
    const line = this.#lines.get(member.cardToken);
    if (line?.members[0] !== member) throw new Error('A member was answered out of turn');
    line.members.shift();
    this.update(line);
  }

  /** Puts the line where its state says it belongs, after any change of that state. */
  update(line: CardLine): void {
    const held = line.inGroup || line.pausing;
    if (held || line.members.length === 0) this.#ready.delete(line);
    else this.#ready.add(line);
    // An empty line stays while it is held: a new member of its card must not overtake the group or the pause.
    if (!held && line.members.length === 0) this.#lines.delete(line.cardToken);
  }
}
