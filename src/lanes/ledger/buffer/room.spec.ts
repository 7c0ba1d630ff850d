import { Room } from './room';

const limits = { itemsMax: 10, bodyBytesHeldMax: 100, congestedFrom: 8, openBelow: 6 };

let room: Room;

beforeEach(() => {
  room = new Room(limits);
});

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

it.each([
  [5, 'admitted'],
  [6, 'callers_half'],
  [11, 'no_room'],
])('%i items of one caller in an empty room of 10: %s', (count, verdict) => {
  expect(room.verdict(count, 'a')).toBe(verdict);
});

it('bytes: half for one caller, all for everybody, and each reservation is given back once', () => {
  const first = room.reserveBytes(50, 'a');
  expect(room.reserveBytes(1, 'a')).toBe('callers_half');
  expect(typeof room.reserveBytes(50, 'b')).toBe('object');
  expect(room.reserveBytes(1, 'c')).toBe('no_room');
  if (typeof first === 'string') throw new Error(first);
  first.release();
  first.release();
  expect(room.bytes).toBe(50);
  expect(typeof room.reserveBytes(50, 'c')).toBe('object');
});

it('is congested from 8 on and open below 6; whoever waits is told then, in order, and not before', async () => {
  const shares = [room.take(5, 'a'), room.take(2, 'b')] as const;
  expect(room.congested).toBe(false);
  room.take(1, 'b');
  expect(room.congested).toBe(true);
  const told: string[] = [];
  room.whenOpen(() => told.push('first'));
  room.whenOpen(() => told.push('second'));
  room.whenOpen(() => told.push('gone'))();
  room.giveBack(shares[0]);
  room.giveBack(shares[0]);
  await nextTurn();
  expect([room.items, room.congested, told]).toEqual([6, true, []]);
  room.giveBack(shares[1]);
  expect(room.congested).toBe(false);
  expect(told).toEqual([]);
  await nextTurn();
  expect(told).toEqual(['first', 'second']);
});

it('whoever fills it again leaves the next one waiting', async () => {
  const share = room.take(5, 'a');
  room.take(3, 'b');
  const told: string[] = [];
  room.whenOpen(() => {
    told.push('first');
    room.take(4, 'c');
  });
  room.whenOpen(() => told.push('second'));
  for (let n = 0; n < 3; n += 1) room.giveBack(share);
  await nextTurn();
  await nextTurn();
  expect(told).toEqual(['first']);
});

it('tells at once, in a later turn, where there is room already', async () => {
  let told = false;
  room.whenOpen(() => (told = true));
  expect(told).toBe(false);
  await nextTurn();
  expect(told).toBe(true);
});

it('remembers no caller that holds nothing', () => {
  const share = room.take(1, 'a');
  const reserved = room.reserveBytes(10, 'a');
  expect(room.callers).toBe(1);
  room.giveBack(share);
  expect(room.callers).toBe(1);
  if (typeof reserved !== 'string') reserved.release();
  expect(room.callers).toBe(0);
  room.reserveBytes(60, 'b');
  expect(room.callers).toBe(0);
});
