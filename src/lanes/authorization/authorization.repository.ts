import { amountMinorFromText } from '../../shared/money';
import { sqlStateOf } from '../../platform/database/driver-errors';
import type { LaneStore, StatementRunner } from '../../platform/database/statement';
import type { Authorization, ResponseCode } from './authorization';
import {
  findById,
  findByKeys,
  limitLockWait,
  placeAuthorizations,
  rollGeneration,
  tryKey,
} from './authorization.statements';
import type { GroupStore, Placement, StoredAnswer } from './group-commit/group-store';
import type { Member } from './group-commit/member';

/** How long the trial of a key waits: longer than a commit under load takes to let go, far below anyone's patience. */
const TRY_KEY_LOCK_WAIT_MS_MAX = 10;

/** The columns that an {@link Authorization} is made of. */
export interface AuthorizationRow {
  readonly id: string;
  readonly merchant_id: string;
  readonly amount_minor: string;
  readonly captured_minor: string;
  readonly reversed_minor: string;
  readonly expired_minor: string;
  readonly refunded_minor: string;
  readonly currency: string;
  readonly response_code: ResponseCode;
  readonly created_at: Date;
  readonly expires_at: Date;
}

interface StoredRow extends AuthorizationRow {
  readonly scope_hash: Buffer;
  readonly payload_hash: Buffer;
}

type PlacementRow =
  | { readonly id: string; readonly outcome: 'card_locked' | 'key_taken' }
  | {
      readonly id: string;
      readonly outcome: 'placed';
      readonly response_code: ResponseCode;
      readonly created_at: Date;
      readonly expires_at: Date;
    };

export type KeyState = 'free' | 'in_flight';

/** Authorizations in `card_auth_ds`; all SQL of their making and reading. */
export class AuthorizationRepository implements GroupStore {
  constructor(private readonly store: LaneStore) {}

  async place(members: readonly Member[], lockWaitMsMax: number | null): Promise<Map<Member, Placement>> {
    const values = placementValues(members);
    const rows =
      lockWaitMsMax === null
        ? await this.store.query<PlacementRow>(placeAuthorizations, values)
        : await this.store.transaction(async (connection) => {
            await limitLocks(connection, lockWaitMsMax);
            return connection.query<PlacementRow>(placeAuthorizations, values);
          });
    const byRowId = new Map(members.map((member) => [member.rowId, member]));
    const placements = new Map<Member, Placement>();
    for (const row of rows) {
      const member = byRowId.get(row.id);
      if (member === undefined) throw new Error('The database answered for a row that was not sent');
      placements.set(member, placementOf(member, row));
    }
    return placements;
  }

  async findStored(members: readonly Member[]): Promise<Map<string, StoredAnswer>> {
    const scopeHashes = members.map(({ authorization }) => authorization.keyed.scopeHash);
    const rows = await this.store.query<StoredRow>(findByKeys, [scopeHashes]);
    return new Map(
      rows.map((row) => [
        row.scope_hash.toString('latin1'),
        { payloadHash: row.payload_hash, authorization: authorizationOf(row) },
      ]),
    );
  }

  async findByRowId(rowId: string): Promise<Authorization | null> {
    const [row] = await this.store.query<AuthorizationRow>(findById, [rowId]);
    return row === undefined ? null : authorizationOf(row);
  }

  async findByScopeHash(scopeHash: Buffer): Promise<Authorization | null> {
    const [row] = await this.store.query<StoredRow>(findByKeys, [[scopeHash]]);
    return row === undefined ? null : authorizationOf(row);
  }

  /**
   * Whether a process has taken the key and not committed yet. Asked by trying to take it and rolling back, only where a
   * plain read found nothing; a request that arrives meanwhile waits those few milliseconds.
   */
  async tryKey(scopeHash: Buffer): Promise<KeyState> {
    try {
      await this.store.transaction(async (connection) => {
        await limitLocks(connection, TRY_KEY_LOCK_WAIT_MS_MAX);
        await connection.query(tryKey, [scopeHash]);
        throw new RollBack();
      });
    } catch (error) {
      if (error instanceof RollBack) return 'free';
      if (sqlStateOf(error) === '55P03') return 'in_flight';
      throw error;
    }
    throw new Error('A trial was committed');
  }

  /** @returns the new generation's number; null where the current one is younger than `ageMinHours`. */
  async rollGeneration(ageMinHours: number): Promise<number | null> {
    const [row] = await this.store.query<{ generation: number | null }>(rollGeneration, [`${ageMinHours} hours`]);
    return row?.generation ?? null;
  }
}

/** Ends a transaction that is to leave nothing behind. */
class RollBack extends Error {
  override readonly name = 'RollBack';
}

/** For the rest of the transaction. */
export async function limitLocks(connection: StatementRunner, lockWaitMsMax: number): Promise<void> {
  await connection.query(limitLockWait, [`${lockWaitMsMax}ms`]);
}

/** The columns of a group. unnest pads unequal arrays with NULL in silence, so they are filled in one loop. */
function placementValues(members: readonly Member[]): readonly unknown[][] {
  const scopeHashes: Buffer[] = [];
  const payloadHashes: Buffer[] = [];
  const rowIds: string[] = [];
  const callers: string[] = [];
  const merchantIds: string[] = [];
  const cardTokens: string[] = [];
  const amounts: number[] = [];
  const currencies: string[] = [];
  for (const { authorization, rowId } of members) {
    const { keyed, caller, request } = authorization;
    scopeHashes.push(keyed.scopeHash);
    payloadHashes.push(keyed.payloadHash);
    rowIds.push(rowId);
    callers.push(caller);
    merchantIds.push(request.merchantId);
    cardTokens.push(request.cardToken);
    amounts.push(request.amountMinor);
    currencies.push(request.currency);
  }
  const columns = [scopeHashes, payloadHashes, rowIds, callers, merchantIds, cardTokens, amounts, currencies];
  if (columns.some(({ length }) => length !== members.length)) throw new Error('Columns of unequal length');
  return columns;
}

function placementOf(member: Member, row: PlacementRow): Placement {
  if (row.outcome !== 'placed') return { kind: row.outcome };
  const { merchantId, amountMinor, currency } = member.authorization.request;
  return {
    kind: 'placed',
    authorization: {
      rowId: row.id,
      merchantId,
      amountMinor,
      capturedMinor: 0,
      reversedMinor: 0,
      expiredMinor: 0,
      refundedMinor: 0,
      currency,
      responseCode: row.response_code,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    },
  };
}

export function authorizationOf(row: AuthorizationRow): Authorization {
  return {
    rowId: row.id,
    merchantId: row.merchant_id,
    amountMinor: amountMinorFromText(row.amount_minor),
    capturedMinor: amountMinorFromText(row.captured_minor),
    reversedMinor: amountMinorFromText(row.reversed_minor),
    expiredMinor: amountMinorFromText(row.expired_minor),
    refundedMinor: amountMinorFromText(row.refunded_minor),
    currency: row.currency,
    responseCode: row.response_code,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
