import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type DynamicModule, Injectable, type INestApplication, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { OperatorAccess } from '../access/operator-access';
import { guardOperatorPages } from '../access/operator-pages';

/** The interface is Swagger UI as it comes with `@nestjs/swagger`; all of it is served from here. */
const ASSETS = { 'swagger-ui.css': 'text/css', 'swagger-ui-bundle.js': 'text/javascript' } as const;

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>payment-core API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `window.ui = SwaggerUIBundle({
  url: '/docs-json',
  dom_id: '#reference',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
});
`;

/** `/docs` and `/docs-json`. The document is made when it is first asked for: at start it would only cost time. */
@Injectable()
export class ApiReference implements OnModuleInit {
  #source: (() => OpenAPIObject | Promise<OpenAPIObject>) | null = null;
  #document: Promise<string> | null = null;

  constructor(
    private readonly host: HttpAdapterHost,
    private readonly access: OperatorAccess,
  ) {}

  /** Where the document comes from; for a process with the routes in it, `() => createApiDocument(app, version)`. */
  describe(source: () => OpenAPIObject | Promise<OpenAPIObject>): void {
    this.#source = source;
    this.#document = null;
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.register((scope, _options, done) => {
      guardOperatorPages(scope, this.access);
      this.#routes(scope);
      done();
    });
  }

  #routes(scope: FastifyInstance): void {
    const page = (_request: unknown, reply: FastifyReply): unknown => reply.type('text/html; charset=utf-8').send(PAGE);
    scope.get('/docs', page);
    scope.get('/docs/', page);
    scope.get('/docs/start.js', (_request, reply) => reply.type('text/javascript; charset=utf-8').send(START));
    const folder = dirname(createRequire(require.resolve('@nestjs/swagger')).resolve('swagger-ui-dist/package.json'));
    for (const [name, type] of Object.entries(ASSETS)) {
      const content = readFileSync(join(folder, name));
      scope.get(`/docs/${name}`, (_request, reply) => reply.type(`${type}; charset=utf-8`).send(content));
    }
    scope.get('/docs-json', async (_request, reply) => {
      this.#document ??= this.#serialize();
      return reply.type('application/json; charset=utf-8').send(await this.#document);
    });
  }

  async #serialize(): Promise<string> {
    const source = this.#source ?? (() => new DocumentBuilder().setTitle('payment-core').build() as OpenAPIObject);
    try {
      return JSON.stringify(await source());
    } catch (error) {
      this.#document = null;
      throw error;
    }
  }
}

/** The document of all routes in an application. */
export function createApiDocument(app: INestApplication, version: string): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('payment-core')
    .setDescription('Card authorization, fraud screening, tax and the merchant ledger, each a lane of its own.')
    .setVersion(version)
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' })
    .build();
  return SwaggerModule.createDocument(app, config);
}

@Module({})
export class DocsModule {
  static register(): DynamicModule {
    return { module: DocsModule, providers: [ApiReference], exports: [ApiReference] };
  }
}
