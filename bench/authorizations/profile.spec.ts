import { originOf } from './profile';

test.each([
  ['(garbage collector)', '', '(garbage collector)'],
  ['writev', '', '(native)'],
  ['parserOnHeaders', 'node:_http_server', 'node:_http_server'],
  ['emit', 'node:internal/streams/writable', 'node:internal/streams'],
  ['x', 'file:///p/node_modules/@nestjs/core/router/router.js', '@nestjs/core'],
  ['x', '/p/node_modules/fastify/node_modules/secure-json-parse/index.js', 'secure-json-parse'],
  ['x', '/p/dist/src/lanes/authorization/group-commit/member.js', 'src/lanes/authorization'],
  ['x', '/p/dist/src/ingress/answers.js', 'src/ingress'],
])('time in %s of %s belongs to %s', (functionName, url, origin) => {
  expect(originOf(functionName, url)).toBe(origin);
});
