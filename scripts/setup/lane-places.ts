import { laneUrlFromServerUrl } from '../../config/data-sources';
import type { Settings } from '../../config/environment';
import { type DatasourceSpecification, type Lane, LANES } from '../../config/lanes';
import { type LanePlace, lanePlaces } from './lane-place';

/** PostgreSQL's own reserve (3), the administrator's tools, migrations and probes beside the lanes' pools. */
const CONNECTIONS_BESIDE_LANES = 28;

export function datasourcesOf(settings: Settings): Record<Lane, DatasourceSpecification> {
  return Object.fromEntries(LANES.map((lane) => [lane, settings.lanes[lane].datasource])) as Record<
    Lane,
    DatasourceSpecification
  >;
}

/** Processes that share a lane's role at the worst moment of a roll-out. */
function processesOf(settings: Settings): number {
  return settings.replicas + settings.replicaSurge;
}

/** `max_connections` of a server that serves all lanes. */
export function connectionsMaxOf(settings: Settings): number {
  const pools = LANES.map((lane) => settings.lanes[lane].datasource.connections);
  return pools.reduce((sum, connections) => sum + connections, 0) * processesOf(settings) + CONNECTIONS_BESIDE_LANES;
}

/**
 * The lanes' places with the passwords that the processes will use: the one in the lane's own URL where it is given, else
 * the one derived from the server's.
 */
export function placesOf(
  settings: Settings,
  serverUrl: string,
  laneUrls: Readonly<Partial<Record<Lane, string>>> = {},
): LanePlace[] {
  return lanePlaces({
    datasources: datasourcesOf(settings),
    processes: processesOf(settings),
    passwordOf: (lane, role) => {
      const own = laneUrls[lane];
      const login = own === undefined ? null : new URL(own);
      const url = login !== null && decodeURIComponent(login.username) === role ? login.toString() : null;
      return decodeURIComponent(new URL(url ?? laneUrlFromServerUrl(serverUrl, role)).password);
    },
  });
}
