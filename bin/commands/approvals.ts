/** `agent approvals list|remove`: what its owner allowed for good, from the agent worker. */
import { approvalRules } from '../../ipc/contracts/rpcRequests.ts';
import type { Link } from '../../ipc/link.ts';
import { painter } from '../../base/paint.ts';
import { jsonOption, type Command, type Input } from '../command.ts';
import { withAgent } from '../withAgent.ts';
import { note, out, print, printJson, table } from '../terminal.ts';

export const command: Command = {
  name: 'approvals',
  summary: 'List and take back what was allowed for good',
  details:
    'Dangerous commands need approval before they run. "Always" allows one exact command in one folder from then on, for you or for the chat that allowed it; these are those commands. Deleting, sudo and unread code can never be allowed for good.',
  examples: [
    { line: 'agent approvals list', does: 'what is allowed for good' },
    { line: 'agent approvals remove "git push --force origin main (in /srv/site)"', does: 'ask about it again' },
  ],
  commands: [
    {
      name: 'list',
      summary: 'List what is allowed for good',
      options: [jsonOption],
      examples: [{ line: 'agent approvals list --json', does: 'as JSON' }],
      run: (input) => withAgent(input, (link) => list(link, input)),
    },
    {
      name: 'remove',
      summary: 'Ask about it again',
      arguments: [{ name: 'rule', summary: 'its id, or its text' }],
      options: [jsonOption],
      examples: [{ line: 'agent approvals remove rule_1a2b3c4d', does: 'by its id' }],
      run: (input) => withAgent(input, (link) => remove(link, input)),
    },
  ],
};

async function list(link: Link, input: Input): Promise<number> {
  const { rules } = await link.call(approvalRules, {});
  if (input.json) printJson({ rules });
  else if (rules.length === 0) note('agent: nothing is allowed for good');
  else {
    const paint = painter(out);
    const rows = rules.map(({ id, rule, tool_name, chat, created_at }) => [
      id,
      tool_name,
      rule,
      chat ?? 'you',
      new Date(created_at).toLocaleString('sv-SE'),
    ]);
    print(table([['ID', 'TOOL', 'ALLOWED', 'FOR', 'SINCE'].map((head) => paint('dim', head)), ...rows]));
  }
  return 0;
}

async function remove(link: Link, input: Input): Promise<number> {
  const { rules } = await link.call(approvalRules, { remove: input.args[0]! });
  if (input.json) printJson({ rules });
  else print(`removed: it is asked about again (${rules.length} left)`);
  return 0;
}
