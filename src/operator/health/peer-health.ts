import { CachedProbe, type ProbeTimes } from './cached-probe';

/** Another process of this installation. */
export interface Peer {
  readonly lane: string;
  /** Its address, without a path. */
  readonly url: string;
}

type PeerLane = readonly [lane: string, description: { status: string }];

/** Dead or hung, a process shows as unreachable within a second: the last answer's time and the limit of the next one. */
const PEER_MS_MAX = 600;
const PEER_TIMES: ProbeTimes = { answerMsMax: PEER_MS_MAX + 50, freshMs: 250, usableMs: 250 };
const BYTES_MAX = 256 * 1024;

/** The health of lanes that run in processes of their own, asked of each by HTTP, all at once, with a short limit. */
export class PeerHealth {
  readonly #probes: readonly CachedProbe<PeerLane>[];

  constructor(peers: readonly Peer[]) {
    this.#probes = peers.map(
      (peer) => new CachedProbe<PeerLane>(() => ask(peer), [peer.lane, { status: 'unreachable' }], PEER_TIMES),
    );
  }

  all(): Promise<PeerLane[]> {
    return Promise.all(this.#probes.map((probe) => probe.get()));
  }
}

async function ask({ lane, url }: Peer): Promise<PeerLane> {
  const answer = await fetch(new URL('/health', url), { signal: AbortSignal.timeout(PEER_MS_MAX) });
  const text = await answer.text();
  if (text.length > BYTES_MAX) throw new Error(`${lane} says more than is read`);
  const overview = JSON.parse(text) as {
    version?: unknown;
    uptime_seconds?: unknown;
    alerts?: unknown;
    lanes?: Record<string, { status: string }>;
  };
  const own = overview.lanes?.[lane];
  if (!own) throw new Error(`${url} does not host ${lane}`);
  const { version, uptime_seconds, alerts } = overview;
  return [lane, { ...own, process: { version, uptime_seconds, alerts } } as { status: string }];
}
