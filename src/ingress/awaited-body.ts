import type { FastifyReply } from 'fastify';
import { DeadlineNode } from '../bulkhead/deadline-list';

/** A body that is on its way. */
export class AwaitedBody extends DeadlineNode<AwaitedBody> {
  constructor(readonly reply: FastifyReply) {
    super();
  }
}
