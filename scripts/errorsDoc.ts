/** docs/ERRORS.md from the table of error codes in base/errors.ts. */
import { errorTable } from '../base/errors.ts';
import { generatedDoc } from './generatedDoc.ts';

const rows = Object.entries(errorTable).map(
  ([code, { rpc, retry, means }]) => `| \`${code}\` | ${rpc} | ${retry ? 'yes' : 'no'} | ${means.replaceAll('|', '\\|')} |`,
);

export const errorsDoc = `# Errors

Every error of the service carries one of these codes: in \`error.data.code\` of JSON-RPC (with the number in \`error.code\`), in \`code\` of the dashboard's problem documents, and in \`error.code\` of a command with \`--json\`. The message says what happened to what; \`fix\`, where there is one, says what to do next. "Retry" means that the same call may succeed later without a change.

| Code | Number | Retry | Meaning |
|---|---|---|---|
${rows.join('\n')}

This page is made from \`base/errors.ts\`: \`node scripts/errorsDoc.ts --write\`.
`;

if (import.meta.main) generatedDoc('ERRORS.md', errorsDoc, 'errorsDoc.ts');
