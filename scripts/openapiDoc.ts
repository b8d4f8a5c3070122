/** docs/openapi.json: the HTTP API of the dashboard, from the routes in ipc/contracts/http. */
import { openapiDocument } from '../services/dashboard/openapi.ts';
import { generatedDoc } from './generatedDoc.ts';

/** Without a version: the document changes when the interface does. */
export const openapiDoc = (): string => `${JSON.stringify(openapiDocument('1'), null, 2)}\n`;

if (import.meta.main) generatedDoc('openapi.json', openapiDoc(), 'openapiDoc.ts');
