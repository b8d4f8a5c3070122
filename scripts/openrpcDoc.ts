/**
 * docs/openrpc.json: the gateway RPC as an OpenRPC document, from the contracts in ipc/contracts/. Methods of the
 * service, requests it makes of its clients (`x-server-requests`), and events (`x-events`).
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { eventPayloads } from '../ipc/contracts/rpcEvents.ts';
import { serverRequests } from '../ipc/contracts/rpcRequests.ts';
import { rpcMethods } from '../ipc/contracts/rpcTable.ts';
import type { Method } from '../ipc/method.ts';
import { errorTable } from '../base/errors.ts';
import { generatedDoc } from './generatedDoc.ts';

const contracts = join(import.meta.dirname, '..', 'ipc', 'contracts');

/** Docstrings of methods and events, by their name; TypeScript keeps none at run time. */
function docstrings(): Map<string, string> {
  const found = new Map<string, string>();
  const pattern =
    /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:export const \w+ = (?:rpcMethod|method)\(\s*'([^']+)'|'?([a-z_.]+)'?: (?:z\.|[A-Z]))/g;
  for (const file of readdirSync(contracts).filter((name) => name.endsWith('.ts'))) {
    const source = readFileSync(join(contracts, file), 'utf8');
    for (const [, text, methodName, eventName] of source.matchAll(pattern)) found.set((methodName ?? eventName)!, oneLine(text!));
  }
  return found;
}

const oneLine = (comment: string): string =>
  comment
    .replaceAll(/\s*\n\s*\*\s?/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

const schemaOf = (schema: z.ZodType): Record<string, unknown> => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>;
  return rest;
};

function describe({ name, params, result }: Method, docs: Map<string, string>): Record<string, unknown> {
  const object = schemaOf(params) as { properties?: Record<string, unknown>; required?: string[] };
  return {
    name,
    ...(docs.has(name) ? { description: docs.get(name) } : {}),
    paramStructure: 'by-name',
    params: Object.entries(object.properties ?? {}).map(([key, schema]) => ({
      name: key,
      required: object.required?.includes(key) ?? false,
      schema,
    })),
    result: { name: 'result', schema: schemaOf(result) },
  };
}

export function openrpcDoc(): string {
  const docs = docstrings();
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  const document = {
    openrpc: '1.3.2',
    info: {
      title: 'Gateway RPC',
      version: '1',
      description:
        'JSON-RPC 2.0 over /api/ws (one message a frame) and run/agent.sock (Content-Length frames after a hello). The first message of the server is the event gateway.ready.',
    },
    methods: rpcMethods.toSorted(byName).map((method) => describe(method, docs)),
    'x-server-requests': serverRequests.toSorted(byName).map((method) => describe(method, docs)),
    'x-events': Object.entries(eventPayloads)
      .map(([name, payload]) => ({ name, ...(docs.has(name) ? { description: docs.get(name) } : {}), payload: schemaOf(payload) }))
      .toSorted(byName),
    components: {
      errors: Object.fromEntries(
        Object.entries(errorTable).map(([code, { rpc, means }]) => [code, { code: rpc, message: means, data: { code } }]),
      ),
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

if (import.meta.main) generatedDoc('openrpc.json', openrpcDoc(), 'openrpcDoc.ts');
