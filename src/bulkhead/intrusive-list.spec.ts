import fc from 'fast-check';
import { DeadlineList, DeadlineNode } from './deadline-list';
import { IntrusiveList, ListNode } from './intrusive-list';

class Item extends ListNode<Item> {}
class TimedItem extends DeadlineNode<TimedItem> {}

function members(list: IntrusiveList<Item>): Item[] {
  const found: Item[] = [];
  for (let item = list.head; item !== null; item = item.next) found.push(item);
  return found;
}

describe('an intrusive list', () => {
  it('holds what an array would hold, whichever members leave and in which order', () => {
    const step = fc.oneof(fc.constant('push' as const), fc.constant('shift' as const), fc.nat(20));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const list = new IntrusiveList<Item>();
        const array: Item[] = [];
        for (const step of steps) {
          if (step === 'push') {
            const item = new Item();
            list.push(item);
            array.push(item);
          } else if (step === 'shift') {
            expect(list.shift()).toBe(array.shift() ?? null);
          } else if (array.length > 0) {
            const [item] = array.splice(step % array.length, 1);
            list.remove(item as Item);
          }
          expect(members(list)).toEqual(array);
          expect(list.size).toBe(array.length);
        }
      }),
    );
  });

  it('refuses a node that is in a list already', () => {
    const node = new Item();
    new IntrusiveList<Item>().push(node);
    expect(() => new IntrusiveList<Item>().push(node)).toThrow('one list only');
  });

  it('refuses to remove a node of another list', () => {
    const node = new Item();
    new IntrusiveList<Item>().push(node);
    expect(() => new IntrusiveList<Item>().remove(node)).toThrow('not in this list');
  });

  it('leaves no link in a node that has left', () => {
    const list = new IntrusiveList<Item>();
    const [first, second, third] = [new Item(), new Item(), new Item()];
    for (const node of [first, second, third]) list.push(node);
    list.remove(second);
    expect(second).toMatchObject({ list: null, previous: null, next: null });
  });
});

describe('a deadline list', () => {
  it.each([
    [99, false],
    [100, true],
    [101, true],
  ])('of 100 ms has its oldest member due after %i ms: %s', (nowMs, isDue) => {
    const list = new DeadlineList<TimedItem>(100);
    const node = new TimedItem();
    list.append(node, 0);
    expect(list.shiftDue(nowMs)).toBe(isDue ? node : null);
  });

  it('has no deadline while it is empty', () => {
    expect(new DeadlineList<TimedItem>(100).earliestMs).toBe(Infinity);
  });
});
