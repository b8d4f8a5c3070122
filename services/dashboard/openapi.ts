/** The HTTP API as an OpenAPI 3.1 document, made from the routes (ipc/contracts/http). */
import { z } from 'zod';
import { errorTable, type ErrorCode } from '../../base/errors.ts';
import { httpRoutes } from '../../ipc/contracts/http/table.ts';
import type { HttpRoute } from '../../ipc/httpRoute.ts';
import { statusOfCode } from './problem.ts';

type Json = Record<string, unknown>;

export function openapiDocument(version: string): Json & { openapi: string } {
  const paths: Record<string, Json> = {};
  for (const route of httpRoutes.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    (paths[route.path.replaceAll(/:(\w+)/g, '{$1}')] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Dashboard',
      version,
      description:
        'Every path needs the session token or the session of a sign-in unless it says otherwise. Errors are problem documents (RFC 9457) with a code and, where something can be done, a fix.',
    },
    security: [{ token: [] }, { session: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: 'apiKey', in: 'header', name: 'X-Agent-Session-Token' },
        session: { type: 'apiKey', in: 'cookie', name: 'agent_session_at' },
      },
      responses: { Problem: { description: 'Refused or failed.', content: { 'application/problem+json': { schema: problemSchema } } } },
    },
  };
}

function operation(route: HttpRoute): Json {
  const { tag, summary, access, body, result, type, status, errors, upload } = route;
  const parameters = parametersOf(route);
  return {
    tags: [tag],
    summary,
    ...(access === 'signedIn' ? {} : { security: [] }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: !body.safeParse({}).success,
            content: { [upload ? 'multipart/form-data' : 'application/json']: { schema: schemaOf(body, 'input') } },
          },
        }
      : {}),
    responses: {
      [status]: { description: 'Done.', content: { [type]: result ? { schema: schemaOf(result, 'output') } : {} } },
      ...refusals(errors),
      default: { $ref: '#/components/responses/Problem' },
    },
  };
}

function parametersOf({ params, query, profile }: HttpRoute): Json[] {
  const inPath = fieldsOf(params, 'path');
  const inQuery = fieldsOf(query, 'query');
  if (profile && !inQuery.some(({ name }) => name === 'profile')) {
    inQuery.push({ name: 'profile', in: 'query', required: false, schema: { type: 'string' } });
  }
  return [...inPath, ...inQuery];
}

function fieldsOf(schema: z.ZodType | null, place: 'path' | 'query'): Json[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as { properties?: Json; required?: string[] };
  return Object.entries(properties).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: field,
  }));
}

/** One answer a status, naming the codes that come with it. */
function refusals(errors: readonly ErrorCode[]): Json {
  const byStatus = Object.groupBy(errors, (code) => String(statusOfCode(code)));
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes = []]) => [
      status,
      {
        description: codes.map((code) => `${code}: ${errorTable[code].means}`).join(' · '),
        content: { 'application/problem+json': { schema: problemSchema } },
      },
    ]),
  );
}

const problemSchema: Json = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
    fix: { type: 'string' },
    errors: {
      type: 'array',
      items: { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } },
    },
  },
};

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Json;
  return rest;
}
