import fc from 'fast-check';
import { parsePublicId, publicId } from './public-id';

describe('a public id', () => {
  it('comes back from its public form, whatever its bits', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const hex = Buffer.from(bytes).toString('hex');
        const rowId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
        const id = publicId('aut_', rowId);
        expect(id).toMatch(/^aut_[0-9A-Z]{26}$/);
        expect(parsePublicId('aut_', id)).toBe(rowId);
      }),
    );
  });

  it.each([
    '',
    'aut_',
    'aut_0',
    'cap_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    'aut_01ARZ3NDEKTSV4RRFFQ69G5FA',
    'aut_01ARZ3NDEKTSV4RRFFQ69G5FAVV',
    'aut_01arz3ndektsv4rrffq69g5fav',
    'aut_81ARZ3NDEKTSV4RRFFQ69G5FAV',
    'aut_01ARZ3NDEKTSV4RRFFQ69G5FAU',
    'aut_01ARZ3NDEKTSV4RRFFQ69G5FA\n',
    'AUT_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  ])('%p is none', (id) => {
    expect(parsePublicId('aut_', id)).toBeNull();
  });
});
