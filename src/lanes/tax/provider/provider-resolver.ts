import { Resolver } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';

/** One try and its repeat stay below the provider's limit of 4,000 ms. */
const QUERY_MS_MAX = 1_000;
const TRIES = 2;

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

/**
 * The lane's own c-ares resolver. `dns.lookup`, which sockets use by themselves, runs in libuv's threads, of which a
 * process has four: a name server that hangs for the provider's name would hold up every file and every other lane's
 * connections in the same process. c-ares asks name servers itself and reads no hosts file, so `localhost` is answered
 * here, and any other name must be a full one.
 */
export class ProviderResolver {
  readonly #resolver = new Resolver({ timeout: QUERY_MS_MAX, tries: TRIES });

  /** For a socket's `lookup`. */
  readonly lookup = (hostname: string, options: LookupOptions, callback: LookupCallback): void => {
    this.#addresses(hostname, familyOf(options)).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else if (first !== undefined) callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, options.all === true ? [] : ''),
    );
  };

  /** Queries under way fail with ECANCELLED. */
  close(): void {
    this.#resolver.cancel();
  }

  /** IPv4 first; at least one, or it rejects. */
  async #addresses(hostname: string, family: 0 | 4 | 6): Promise<LookupAddress[]> {
    if (hostname === 'localhost' || hostname.endsWith('.localhost')) return [{ address: '127.0.0.1', family: 4 }];
    const wanted = family === 0 ? ([4, 6] as const) : ([family] as const);
    const answers = await Promise.allSettled(wanted.map((each) => this.#query(hostname, each)));
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const failed = answers.find((answer) => answer.status === 'rejected');
    throw failed?.reason ?? Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
  }

  #query(hostname: string, family: 4 | 6): Promise<LookupAddress[]> {
    return new Promise((resolve, reject) => {
      const settle = (error: NodeJS.ErrnoException | null, addresses: string[]): void => {
        if (error) reject(error);
        else resolve(addresses.map((address) => ({ address, family })));
      };
      if (family === 4) this.#resolver.resolve4(hostname, settle);
      else this.#resolver.resolve6(hostname, settle);
    });
  }
}

function familyOf({ family }: LookupOptions): 0 | 4 | 6 {
  if (family === 4 || family === 'IPv4') return 4;
  if (family === 6 || family === 'IPv6') return 6;
  return 0;
}
