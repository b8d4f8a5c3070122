import t from 'tap';
import { decideTools, pinnedOrder, type PolicyInput } from '../../agent/tools/policy.ts';
import { idleTool } from '../harness/records.ts';

const tools = [
  idleTool('terminal', 'terminal'),
  idleTool('read_file', 'file'),
  idleTool('memory', 'memory'),
  idleTool('cronjob', 'cronjob'),
  idleTool('mcp__a__x', 'mcp-a'),
  idleTool('mcp__b__y', 'mcp-b'),
];
const ALL = tools.map(({ name }) => name);
const without = (...names: string[]) => ALL.filter((name) => !names.includes(name));

const CHAT = without('terminal', 'read_file', 'mcp__a__x', 'mcp__b__y');

const table: { name: string; input: PolicyInput; want: string[] }[] = [
  { name: 'the scripted model on a local surface has everything', input: { surface: 'cli' }, want: ALL },
  { name: 'a real model has the same: its dangerous commands are asked about', input: { surface: 'cli' }, want: ALL },
  {
    name: 'a chat platform has neither terminal, files nor MCP servers',
    input: { surface: 'gateway', platform: 'irc' },
    want: CHAT,
  },
  { name: 'nor on a platform nobody named', input: { surface: 'gateway' }, want: CHAT },
  {
    name: 'a list for another platform changes nothing',
    input: { surface: 'gateway', platform: 'irc', platformToolsets: { telegram: ['terminal'] } },
    want: CHAT,
  },
  {
    name: 'an explicit list is exactly what is allowed',
    input: { surface: 'gateway', platform: 'irc', platformToolsets: { irc: ['terminal', 'memory'] } },
    want: ['terminal', 'memory'],
  },
  {
    name: 'the bare composite of a platform is its default',
    input: { surface: 'gateway', platform: 'irc', platformToolsets: { irc: 'agent-irc' } },
    want: CHAT,
  },
  {
    name: 'agent-cli is everything',
    input: { surface: 'gateway', platform: 'irc', platformToolsets: { irc: ['agent-cli'] } },
    want: ALL,
  },
  {
    name: 'a composite beside a name is both',
    input: { surface: 'gateway', platform: 'irc', platformToolsets: { irc: ['agent-irc', 'file'] } },
    want: [...CHAT, 'read_file'].toSorted((a, b) => ALL.indexOf(a) - ALL.indexOf(b)),
  },
  {
    name: 'mcp stands for every server',
    input: { surface: 'gateway', platform: 'irc', platformToolsets: { irc: ['mcp'] } },
    want: ['mcp__a__x', 'mcp__b__y'],
  },
  {
    name: 'a chat has the MCP servers that the owner names for its platform, whatever its toolsets',
    input: { surface: 'gateway', platform: 'irc', platformServers: { irc: ['b'] } },
    want: without('terminal', 'read_file', 'mcp__a__x'),
  },
  {
    name: 'also beside a list of toolsets',
    input: { surface: 'gateway', platform: 'irc', platformServers: { irc: ['b'] }, platformToolsets: { irc: ['memory'] } },
    want: ['memory', 'mcp__b__y'],
  },
  {
    name: 'servers named for another platform change nothing',
    input: { surface: 'gateway', platform: 'irc', platformServers: { webhook: ['b'] } },
    want: CHAT,
  },
  { name: 'a webhook has neither memory nor jobs', input: { surface: 'gateway', platform: 'webhook' }, want: [] },
  {
    name: 'unless the owner lists them',
    input: { surface: 'gateway', platform: 'webhook', platformToolsets: { webhook: ['memory', 'cronjob'] } },
    want: ['memory', 'cronjob'],
  },
  {
    name: 'a job that a chat made has what both jobs and that chat have',
    input: {
      surface: 'scheduled_task',
      principal: { kind: 'chat', platform: 'irc', scope: 'k' },
      platformToolsets: { cron: ['agent-cli'] },
    },
    want: ['memory'],
  },
  {
    name: 'disabled toolsets are subtracted last',
    input: {
      surface: 'gateway',
      platform: 'irc',

      platformToolsets: { irc: ['terminal', 'memory'] },
      disabled: ['terminal'],
    },
    want: ['memory'],
  },
  {
    name: 'disabled names may be servers, or all of them',
    input: { surface: 'cli', disabled: ['mcp-a', 'file'] },
    want: without('mcp__a__x', 'read_file'),
  },
  {
    name: 'disabled mcp is every server',
    input: { surface: 'cli', disabled: ['mcp'] },
    want: without('mcp__a__x', 'mcp__b__y'),
  },
  {
    name: 'a scheduled job makes no jobs and does not reach the host',
    input: { surface: 'scheduled_task' },
    want: without('cronjob', 'terminal', 'read_file'),
  },
  {
    name: 'the owner opens the host to scheduled jobs under the name cron',
    input: { surface: 'scheduled_task', platformToolsets: { cron: ['terminal', 'cronjob'] } },
    want: ['terminal'],
  },
  {
    name: 'the platform of a session does not count on a local surface',
    input: { surface: 'desktop', platform: 'irc' },
    want: ALL,
  },
];

t.test('each row of the policy', async (t) => {
  for (const { name, input, want } of table) {
    const { allowed, refused } = decideTools(tools, input);
    t.same(
      allowed.map((one) => one.name),
      want,
      name,
    );
    t.same([...refused.keys()].toSorted(), without(...want).toSorted(), `${name}: the rest is refused`);
  }
});

t.test('a refusal says what would allow the tool', async (t) => {
  t.match(decideTools(tools, { surface: 'gateway', platform: 'irc' }).refused.get('read_file'), /platform_toolsets\.irc in config\.yaml/);
  t.match(decideTools(tools, { surface: 'cli', disabled: ['file'] }).refused.get('read_file'), /agent\.disabled_toolsets/);
});

t.test('the pinned order of tools stays, later ones follow by name', async (t) => {
  const names = pinnedOrder(tools, ['terminal', 'gone', 'cronjob']).map(({ name }) => name);
  t.same(names, ['terminal', 'cronjob', 'mcp__a__x', 'mcp__b__y', 'memory', 'read_file']);
});
