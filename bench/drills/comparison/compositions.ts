import { join } from 'node:path';
import { projectRoot } from '../../../scripts/setup/project';
import type { TopologyName, TopologyOptions } from '../../support/topology';

const SHARED_LANES = join(projectRoot, 'dist', 'bench', 'drills', 'compositions', 'shared-lanes.js');

/** One way to put the lanes of the same product together, with the seed's own figures for it [BULKHEAD-PAY-001]. */
export interface Composition {
  readonly name: string;
  readonly topology: TopologyName;
  options(adminUrl: string): TopologyOptions;
}

interface Shared {
  readonly permits: number;
  readonly queue: number;
  readonly connections: number;
}

/** 60 connections and 120 threads were what the incident's service had. */
function shared(name: string, { permits, queue, connections }: Shared): Composition {
  return {
    name,
    topology: 'all',
    options: (adminUrl) => ({
      nodeArguments: ['--require', SHARED_LANES],
      environment: {
        DRILL_SHARED_LANES: JSON.stringify({
          database_url: adminUrl,
          permits,
          queue,
          connections,
          tax_holds_connection: true,
        }),
      },
    }),
  };
}

/** Best last, as in the seed's table. */
export const compositions: readonly Composition[] = [
  shared('one pool of 500 permits, 60 shared connections', { permits: 500, queue: 0, connections: 60 }),
  shared('one shared semaphore of 120, 60 shared connections', { permits: 120, queue: 15, connections: 60 }),
  { name: 'a bulkhead and a pool for each lane, one process', topology: 'all', options: () => ({}) },
  { name: 'the same, a process for each lane', topology: 'isolated', options: () => ({}) },
];
