import { join } from 'node:path';
import type { Settings } from '../../../config/environment';
import { hostOf, portsOf } from '../../../src/roles/supervisor/role-environment';
import { SUPERVISED_ROLES } from '../../../src/roles/supervisor/role-table';
import type { ScriptEnvironment } from '../script-environment';

const COMPILED = join(__dirname, '..', '..', '..', 'src');

export interface Listener {
  role: string;
  host: string;
  port: number;
}

/** Which application is spawned, and where it will listen. */
export interface Topology {
  main: string;
  /** The command that somebody types, for hints. */
  command: string;
  listeners(environment: ScriptEnvironment, settings: Settings): readonly Listener[];
}

/** One process, of the role that the environment says. */
export const singleProcess: Topology = {
  main: join(COMPILED, 'main.js'),
  command: 'npm start',
  listeners: (_environment, { role, host, port }) => [{ role, host, port }],
};

/** One process per lane and the operator's, under the supervisor; the operator's first, since people go there. */
export const isolatedTopology: Topology = {
  main: join(COMPILED, 'roles', 'supervisor', 'main.js'),
  command: 'npm run start:isolated',
  listeners: ({ variables }) => {
    const host = hostOf(variables);
    const ports = portsOf(variables);
    return SUPERVISED_ROLES.map((role) => ({ role, host, port: ports[role] })).sort((a, b) => a.port - b.port);
  },
};
