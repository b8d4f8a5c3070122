/** docs/ERRORS.md from the table of error codes in base/errors.ts. */
import { errorTable, type ErrorKind } from '../base/errors.ts';
import { generatedDoc } from './generatedDoc.ts';

const rows = Object.entries(errorTable).map(
  ([code, { rpc, retry, accepted, means }]: [string, ErrorKind]) =>
    `| \`${code}\` | ${rpc} | ${retry ? 'yes' : 'no'} | ${accepted ?? 'fails'} | ${means.replaceAll('|', '\\|')} |`,
);

export const errorsDoc = `# Errors

Every error of the service carries one of these codes: in \`error.data.code\` of JSON-RPC (with the number in \`error.code\`), in \`code\` of the dashboard's problem documents, and in \`error.code\` of a command with \`--json\`. The message says what happened to what; \`fix\`, where there is one, says what to do next. "Retry" means that the same call may succeed later without a change. "Accepted work" says what the error means for a message, a prompt or a job run that the service has already acknowledged: \`waits\` = it is kept, in order, and tried again until the cause is gone; \`fails\` = it ends, and \`agent gateway undelivered\` or \`agent cron runs\` lists it.

| Code | Number | Retry | Accepted work | Meaning |
|---|---|---|---|---|
${rows.join('\n')}

This page is made from \`base/errors.ts\`: \`node scripts/errorsDoc.ts --write\`.
`;

if (import.meta.main) generatedDoc('ERRORS.md', errorsDoc, 'errorsDoc.ts');
