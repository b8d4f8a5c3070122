// The peer of the dashboard's bench: ten lines of fastify that answer from memory.
import { createRequire } from 'node:module';
const { default: fastify } = await import(createRequire(`${process.argv[3]}/`).resolve('fastify'));
const app = fastify({ logger: false });
const status = {
  version: '1.0.0',
  paused: null,
  workers: ['agent', 'dashboard', 'gateway', 'cron', 'mcp'].map((slot) => ({ slot, state: 'ready' })),
};
app.get('/api/status', async () => status);
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) });
