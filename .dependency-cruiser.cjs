const lanes = ['authorization', 'fraud', 'tax', 'ledger'];

/** The architecture as rules that fail: arrows point one way, roles → lanes, operator → ingress → bulkhead, platform → shared. */
const layers = [
  {
    name: 'shared-knows-nobody',
    comment: 'Money, ids and the problem rows are pure: no I/O, no Nest, no other folder.',
    from: { path: '^src/shared' },
    to: { path: '^(src/(?!shared)|config|migrations|scripts|test)', pathNot: '^node_modules' },
  },
  {
    name: 'shared-does-no-io',
    comment: 'Shared code is used everywhere, the lint rules included; it may not reach for a server or a framework.',
    from: { path: '^src/shared', pathNot: '\\.spec\\.ts$' },
    to: { path: 'node_modules/(@nestjs|pg|typeorm|ioredis|bullmq|fastify)' },
  },
  {
    name: 'bulkhead-is-plain-typescript',
    comment: 'The permit engine knows neither Nest nor HTTP nor a lane by name (contract 4.7).',
    from: { path: '^src/bulkhead', pathNot: '\\.spec\\.ts$' },
    to: { pathNot: '^src/(bulkhead|shared)|^(node:)?(events|perf_hooks|async_hooks)$' },
  },
  {
    name: 'platform-knows-no-lane',
    comment: 'The platform is given values; a lane that it knew by name could not be deleted with its folder.',
    from: { path: '^src/platform', pathNot: '\\.spec\\.ts$' },
    to: { path: '^(src/(lanes|ingress|operator|roles)|config)' },
  },
  {
    name: 'ingress-knows-no-lane',
    comment: 'The edge is lane-neutral: what differs between lanes reaches it as route policies and values.',
    from: { path: '^src/ingress', pathNot: '\\.spec\\.ts$' },
    to: { path: '^(src/(lanes|operator|roles)|config)' },
  },
  {
    name: 'operator-reads-the-registry',
    comment: 'Operator pages never reach into a lane; they read what lanes put into the registry.',
    from: { path: '^src/operator', pathNot: '\\.spec\\.ts$' },
    to: { path: '^(src/(lanes|roles)|config)' },
  },
  {
    name: 'nobody-imports-roles',
    comment: 'Roles compose; only main.ts starts them.',
    from: { path: '^(src|config)', pathNot: '^src/(roles|main\\.ts)' },
    to: { path: '^src/roles' },
  },
  {
    name: 'the-lane-table-is-for-roles-and-lane-modules',
    comment: 'Everything else is given its figures, so that tests and other lanes can give others.',
    from: {
      path: '^src',
      pathNot: '^src/(roles/|main\\.ts|lanes/(lane-[^/]+|[^/]+/[^/]+\\.module)\\.ts)|\\.spec\\.ts$',
    },
    to: { path: '^config/lanes' },
  },
  {
    name: 'config-stands-alone',
    comment: 'Settings are read before anything is built.',
    from: { path: '^config', pathNot: '\\.spec\\.ts$' },
    to: { path: '^(src/(?!shared)|scripts|test|migrations)' },
  },
  {
    name: 'product-does-not-import-tests-or-scripts',
    from: { path: '^(src|config|migrations)', pathNot: '\\.spec\\.ts$' },
    to: { path: '^(test|scripts|bench|tools|examples)' },
  },
];

/** No lane imports another: they meet over HTTP or BullMQ only (contract 2, 12). */
const laneWalls = lanes.map((lane) => ({
  name: `lane-${lane}-is-an-island`,
  comment: 'ERR_SHARED_FAILURE_DOMAIN_DETECTED: code of one lane reaches into another (contract 12, ADV-FD-01).',
  from: { path: `^(src/lanes|migrations)/${lane}/` },
  to: { path: `^(src/lanes|migrations)/(?!${lane}/)[^/]+/` },
}));

module.exports = {
  forbidden: [
    ...layers.map((rule) => ({ severity: 'error', ...rule })),
    ...laneWalls.map((rule) => ({ severity: 'error', ...rule })),
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'A cycle hides what depends on what.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'A module that nobody uses is dead code.',
      from: { orphan: true, path: '^src', pathNot: '\\.spec\\.ts$|^src/main\\.ts$' },
      to: {},
    },
    {
      name: 'no-unlisted-packages',
      severity: 'error',
      comment: 'Every package that is imported stands in package.json with an exact version.',
      from: { path: '^(src|config|migrations)', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'npm-dev', 'unknown', 'undetermined'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
    exclude: { path: '^dist/' },
  },
};
