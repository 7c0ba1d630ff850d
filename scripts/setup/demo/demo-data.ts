import type { ClientBase } from 'pg';
import type { Lane } from '../../../config/lanes';

/** What a lane brings for a first try: the merchants, cards and accounts of contract 15. */
export interface DemoData {
  lane: Lane;
  /** Loaded once; a higher one is loaded beside what an older version left, and must allow for that. */
  version: number;
  /** Runs as the lane's owner role with the lane's schema in front, inside one transaction. */
  load(client: ClientBase): Promise<void>;
}
