import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { OperatorAccess } from './operator-access';

/** Keeps a controller to operators. */
@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(private readonly access: OperatorAccess) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    await this.access.require(context.switchToHttp().getRequest<FastifyRequest>());
    return true;
  }
}
