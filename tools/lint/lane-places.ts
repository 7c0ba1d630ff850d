import { relative, sep } from 'node:path';
import type { LaneNames } from './lane-names';

/**
 * Where a file stands: in one lane; in lane-neutral code, which may reach no lane's resource at all; or in code
 * that composes, tests or measures and may name all.
 */
export type Place =
  { readonly kind: 'lane'; readonly lane: string } | { readonly kind: 'neutral' } | { readonly kind: 'free' };

const LANE_FOLDERS = [/^src\/lanes\/([^/]+)\//, /^migrations\/([^/]+)\//, /^scripts\/setup\/demo\/([^/.]+)[/.]/];
const SPECIFICATION = /\.(?:spec|test)\.[cm]?ts$/;
/** Roles compose all lanes and main starts roles (contract 2); everything else under `src` is given values. */
const COMPOSERS = /^src\/(?:roles\/|main\.ts$)/;

export class LanePlaces {
  private readonly owners = new Map<string, string | null>();

  constructor(
    private readonly names: LaneNames,
    private readonly root: string,
  ) {}

  /** The lane that owns a file, its tests included; null for everything else. */
  ownerOf(fileName: string): string | null {
    const known = this.owners.get(fileName);
    if (known !== undefined) return known;
    const path = this.pathOf(fileName);
    const found = LANE_FOLDERS.map((folder) => folder.exec(path)?.[1]).find((lane) => lane !== undefined);
    const owner = found !== undefined && this.names.lanes.includes(found) ? found : null;
    this.owners.set(fileName, owner);
    return owner;
  }

  /** What a file may reach. */
  placeOf(fileName: string): Place {
    const path = this.pathOf(fileName);
    if (SPECIFICATION.test(path)) return { kind: 'free' };
    const lane = this.ownerOf(fileName);
    if (lane !== null) return { kind: 'lane', lane };
    return path.startsWith('src/') && !COMPOSERS.test(path) ? { kind: 'neutral' } : { kind: 'free' };
  }

  pathOf(fileName: string): string {
    return relative(this.root, fileName).split(sep).join('/');
  }
}
