import type { AdmissionVerdict, ByteReservation, IngestRoom } from '../ledger';

/**
 * The room that one body takes, from before it is read until it is held no longer: either the request ends without it
 * (refused, broken off), or a door takes the body on and releases it with its last outcome.
 */
export class HeldBody {
  readonly #room: IngestRoom;
  readonly #callerKey: string;
  #bytes: number;
  #reservation: ByteReservation | null;
  #taken = false;

  private constructor(room: IngestRoom, callerKey: string, bytes: number, reservation: ByteReservation) {
    this.#room = room;
    this.#callerKey = callerKey;
    this.#bytes = bytes;
    this.#reservation = reservation;
  }

  static reserve(room: IngestRoom, bytes: number, callerKey: string): HeldBody | Exclude<AdmissionVerdict, 'admitted'> {
    const reservation = room.reserveBytes(bytes, callerKey);
    return typeof reservation === 'string' ? reservation : new HeldBody(room, callerKey, bytes, reservation);
  }

  /** From now on it is the door's to release. False where the request has ended meanwhile. */
  take(): boolean {
    if (this.#reservation === null) return false;
    this.#taken = true;
    return true;
  }

  /** It has been read and is so long: what was reserved beyond that, for want of a declared length, is given back. */
  shrinkTo(bytes: number): void {
    if (this.#reservation === null || bytes >= this.#bytes) return;
    this.#reservation.release();
    const smaller = this.#room.reserveBytes(bytes, this.#callerKey);
    // Less than what has just become free is always there.
    this.#reservation = typeof smaller === 'string' ? null : smaller;
    this.#bytes = bytes;
  }

  requestEnded(): void {
    if (!this.#taken) this.release();
  }

  release(): void {
    this.#reservation?.release();
    this.#reservation = null;
  }
}
