import { ESLintUtils, type TSESLint, type TSESTree } from '@typescript-eslint/utils';
import type { Inspection, Reach } from './inspection';
import { LaneNames, type LaneTable } from './lane-names';
import { LanePlaces } from './lane-places';
import { memberReach } from './member-reach';
import { moduleReach } from './module-reach';
import { SqlNames } from './sql-names';
import { textReach } from './text-reach';

type MessageId = 'sharedFailureDomain';

export interface SharedFailureDomainOptions {
  /** The folder in which `src/`, `migrations/` and `scripts/` stand; where ESLint runs unless given. */
  root?: string;
}

const ADVICE = {
  lane:
    'Lanes meet over BullMQ or HTTP only: add to a queue of your own that the other lane lists under `consumes` in ' +
    'config/lanes.ts, or call its HTTP API.',
  neutral:
    'Lane-neutral code knows no lane: take the value as an argument or read the lane registry, and leave the naming ' +
    'to src/roles and the lane itself. Lanes meet over BullMQ (`consumes` in config/lanes.ts) or HTTP only.',
  consumer:
    '`consumes` in config/lanes.ts lets this lane run the jobs of that queue, not add to it or manage it: answer ' +
    'through a BullMQ queue of your own that the other lane consumes, or over HTTP.',
} as const;

/**
 * Reports every code path from one lane to a resource of another: datasource, repository, entity, queue, HTTP client
 * or bulkhead (contract 12, ADV-FD-01), whichever way it is reached.
 *
 * @param table The lane table: names, queues that a lane consumes.
 */
export function createSharedFailureDomainRule(
  table: LaneTable,
): TSESLint.RuleModule<MessageId, [SharedFailureDomainOptions?]> {
  const names = new LaneNames(table);
  const sql = new SqlNames(names);
  const placesByRoot = new Map<string, LanePlaces>();
  return {
    defaultOptions: [],
    meta: {
      type: 'problem',
      docs: { description: 'No lane reaches a resource of another lane' },
      messages: {
        sharedFailureDomain:
          'ERR_SHARED_FAILURE_DOMAIN_DETECTED: {{who}} reaches {{lane}} ({{what}}) by {{way}}. {{advice}}',
      },
      schema: [{ type: 'object', properties: { root: { type: 'string' } }, additionalProperties: false }],
    },
    create(context) {
      const root = context.options[0]?.root ?? context.cwd;
      const places = placesByRoot.get(root) ?? new LanePlaces(names, root);
      placesByRoot.set(root, places);
      const place = places.placeOf(context.filename);
      if (place.kind === 'free') return {};
      const services = ESLintUtils.getParserServices(context);
      const inspection: Inspection = {
        names,
        places,
        place,
        services,
        fileName: context.filename,
        checker: services.program.getTypeChecker(),
        reached: new Set(),
        report: (node: TSESTree.Node, reach: Reach) => {
          const who =
            place.kind === 'lane' ? `the ${place.lane} lane` : `lane-neutral ${places.pathOf(context.filename)}`;
          const advice = reach.beyondConsuming === true ? ADVICE.consumer : ADVICE[place.kind];
          const data = { who, lane: `the ${reach.lane} lane`, what: reach.what, way: reach.way, advice };
          context.report({ node, messageId: 'sharedFailureDomain', data });
        },
      };
      return merged([moduleReach(inspection), textReach(inspection, sql), memberReach(inspection, sql)]);
    },
  };
}

type Listen = (node: never) => void;

/** Detectors are independent and may listen to the same nodes; ESLint takes one function for each. */
function merged(listeners: readonly TSESLint.RuleListener[]): TSESLint.RuleListener {
  const all = new Map<string, Listen[]>();
  for (const listener of listeners) {
    for (const [selector, listen] of Object.entries(listener)) {
      if (listen !== undefined) all.set(selector, [...(all.get(selector) ?? []), listen]);
    }
  }
  return Object.fromEntries(
    [...all].map(([selector, calls]) => [selector, (node: never) => calls.forEach((call) => call(node))]),
  );
}
