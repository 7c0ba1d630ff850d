import { meanBetween, parseMetrics } from './metrics';

const before = parseMetrics('# HELP x y\nauthorization_group_size_sum 10\nauthorization_group_size_count 5\n');
const after = parseMetrics(
  'authorization_group_size_sum 25\nauthorization_group_size_count 10\na_bucket{le="+Inf"} 3\n',
);

test('what a histogram observed between two readings', () => {
  expect(meanBetween('authorization_group_size', before, after)).toBe(3);
  expect(meanBetween('authorization_group_size', after, after)).toBeNull();
  expect(after.get('a_bucket{le="+Inf"}')).toBe(3);
});
