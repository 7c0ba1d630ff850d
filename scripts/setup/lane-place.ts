import { type DatasourceSpecification, type Lane, LANES } from '../../config/lanes';

/** One lane's place in the database. */
export interface LanePlace {
  lane: Lane;
  datasource: DatasourceSpecification;
  /** Of the lane's own login. */
  password: string;
  /** Connections that the lane's role may hold: its pool, times the processes that share the role. */
  connectionLimit: number;
}

/** Places for all lanes from their table; the connection limit is the pool times all processes of a roll-out. */
export function lanePlaces(input: {
  datasources: Readonly<Record<Lane, DatasourceSpecification>>;
  processes: number;
  passwordOf: (lane: Lane, role: string) => string;
}): LanePlace[] {
  return LANES.map((lane) => {
    const datasource = input.datasources[lane];
    return {
      lane,
      datasource,
      password: input.passwordOf(lane, datasource.role),
      connectionLimit: datasource.connections * input.processes,
    };
  });
}
