/** The process must not start, for a reason that a person mends: the message says how, and a stack would hide it. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal';
}
