import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Receiver } from '../receiver.js';
import { answerNode } from './node-request.js';

/** The part of a Fastify instance that the plugin uses. */
export interface FastifyScope {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    contentType: string,
    parser: (request: never, payload: never, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  route(options: {
    method: string[];
    url: string;
    handler: (request: { raw: IncomingMessage }, reply: FastifyReply) => void;
  }): unknown;
}

interface FastifyReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

const methods = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];

/**
 * For `app.register(fastifyPlugin(receiver, { url: '/notify' }))`. Inside this plugin alone no parser touches a body, so the rest of
 * the app keeps its own.
 */
export function fastifyPlugin(
  receiver: Receiver,
  options: { url: string },
): (scope: FastifyScope, pluginOptions: unknown, done: () => void) => void {
  return (scope, _pluginOptions, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    scope.route({
      method: methods,
      url: options.url,
      handler: (request, reply) => {
        reply.hijack();
        void answerNode(receiver, request.raw, reply.raw);
      },
    });
    done();
  };
}
