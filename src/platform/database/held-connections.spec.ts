import { FakeClock } from '../../../test/support/fake-clock';
import { Takers } from './held-connections';

describe('who runs a statement', () => {
  const clock = new FakeClock();
  const takers = new Takers(clock);
  function query(statement: string): { stack?: string } {
    return takers.of(statement, query);
  }
  const oneRepository = (statement: string): string => query(statement).stack ?? '';
  const otherRepository = (statement: string): string => query(statement).stack ?? '';

  beforeEach(() => clock.advance(1_000));

  it('is told by a stack of its own, whoever ran the statement before', () => {
    for (let run = 0; run < 50; run += 1) {
      expect(oneRepository('read')).toContain('oneRepository');
      expect(otherRepository('read')).toContain('otherRepository');
    }
  });

  it('is taken to be the one of last time beyond a hundred in a second, and exact again in the next', () => {
    for (let run = 0; run < 100; run += 1) oneRepository('read');
    expect(otherRepository('read')).toContain('oneRepository');
    clock.advance(999);
    expect(otherRepository('read')).toContain('oneRepository');
    clock.advance(1);
    expect(otherRepository('read')).toContain('otherRepository');
  });

  it('is never another statement’s', () => {
    for (let run = 0; run < 100; run += 1) oneRepository('read');
    expect(otherRepository('write')).toContain('otherRepository');
  });
});
