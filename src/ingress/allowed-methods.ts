import type { FastifyInstance, HTTPMethods } from 'fastify';
import { pathOf } from './exchange';

/** The methods that any route of this server has, gathered as routes are added. */
export class AllowedMethods {
  readonly #methods = new Set<HTTPMethods>();
  readonly #fastify: FastifyInstance;

  constructor(fastify: FastifyInstance) {
    this.#fastify = fastify;
    fastify.addHook('onRoute', ({ method }) => {
      for (const one of [method].flat()) this.#methods.add(one);
    });
  }

  /** The methods of a path as sent, parameters in it or not; empty for a path that nobody serves. */
  of(requestUrl: string): string[] {
    const url = pathOf(requestUrl);
    return [...this.#methods].filter((method) => this.#fastify.findRoute({ method, url }) !== null).sort();
  }
}
