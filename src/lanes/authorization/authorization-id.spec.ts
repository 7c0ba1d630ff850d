import { publicId } from '../../shared/public-id';
import { newRowId } from './authorization-id';

describe('the id of an authorization', () => {
  it('is a version 7 UUID that sorts by time, as its public form does', () => {
    const ids = [1_700_000_000_000, 1_700_000_000_001, 1_700_000_065_536, 1_764_504_000_000, 2 ** 47].map((ms) =>
      newRowId(ms),
    );
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([...ids].sort()).toEqual(ids);
    const publicIds = ids.map((id) => publicId('aut_', id));
    expect([...publicIds].sort()).toEqual(publicIds);
  });

  it('carries the millisecond in its first 48 bits', () => {
    expect(parseInt(newRowId(1_764_504_000_123).replaceAll('-', '').slice(0, 12), 16)).toBe(1_764_504_000_123);
  });

  it('is never given twice', () => {
    const ids = new Set(Array.from({ length: 20_000 }, () => newRowId(1)));
    expect(ids.size).toBe(20_000);
  });
});
