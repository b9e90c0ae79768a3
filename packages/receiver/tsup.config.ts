import { library } from '../../tsup.base.ts';

export default library({
  entry: {
    index: 'src/index.ts',
    testing: 'src/testing.ts',
    prometheus: 'src/prometheus.ts',
    express: 'src/adapters/express.ts',
    'node-http': 'src/adapters/node-http.ts',
    fastify: 'src/adapters/fastify.ts',
    koa: 'src/adapters/koa.ts',
    fetch: 'src/adapters/fetch.ts',
    hono: 'src/adapters/hono.ts',
    'aws-lambda': 'src/adapters/aws-lambda.ts',
  },
});
