import t from 'tap';
import { decideTools } from '../../agent/tools/policy.ts';
import { merged, replaced } from '../../agent/tools/todo.ts';
import { idleTool } from '../harness/records.ts';

t.test('other.3 a todo item may name a parent; a self reference, dangling references and circles are put right', (t) => {
  const item = (id: string, parent?: string) => ({ id, content: id, status: 'pending' as const, ...(parent ? { parent } : {}) });
  const table: { name: string; given: ReturnType<typeof item>[]; want: Record<string, string | undefined> }[] = [
    { name: 'a tree stays', given: [item('a'), item('b', 'a'), item('c', 'b')], want: { a: undefined, b: 'a', c: 'b' } },
    { name: 'a parent may come later', given: [item('b', 'a'), item('a')], want: { b: 'a', a: undefined } },
    { name: 'a self reference is dropped', given: [item('a', 'a')], want: { a: undefined } },
    { name: 'a dangling reference is dropped', given: [item('a', 'nobody')], want: { a: undefined } },
    { name: 'a circle is opened once', given: [item('a', 'b'), item('b', 'c'), item('c', 'a')], want: { a: undefined, b: 'c', c: 'a' } },
    {
      name: 'what hangs on a circle stays',
      given: [item('x', 'a'), item('a', 'b'), item('b', 'a')],
      want: { x: 'a', a: undefined, b: 'a' },
    },
  ];
  for (const { name, given, want } of table) {
    const { items } = replaced(given);
    t.same(Object.fromEntries(items.map(({ id, parent }) => [id, parent])), want, name);
  }
  t.match(replaced([item('a', 'a')]).notes, ['the parent of a was dropped: it named itself']);
  t.end();
});

t.test('other.3 merge mode sets and clears parents and keeps what is not named', (t) => {
  const current = replaced([
    { id: 'a', content: 'A', status: 'completed' },
    { id: 'b', content: 'B', parent: 'a' },
  ]).items;
  t.same(merged(current, [{ id: 'b', status: 'in_progress' }]).items, [
    { id: 'a', content: 'A', status: 'completed' },
    { id: 'b', content: 'B', status: 'in_progress', parent: 'a' },
  ]);
  t.same(merged(current, [{ id: 'b', parent: null }]).items[1], { id: 'b', content: 'B', status: 'pending' });
  t.same(
    merged(current, [{ id: 'a', parent: 'b' }]).items.map(({ id, parent }) => [id, parent]),
    [
      ['a', undefined],
      ['b', 'a'],
    ],
    'a circle through the stored list',
  );
  t.match(merged(current, [{ id: 'c' }]), { items: { length: 2 }, notes: ['c has no content and was left out'] });
  t.match(
    merged(current, [
      { id: 'c', content: 'C', parent: 'b', status: 'in_progress' },
      { id: 'b', status: 'in_progress' },
    ]),
    {
      items: [{ id: 'a' }, { id: 'b' }, { id: 'c', parent: 'b' }],
      notes: ['b, c are all in_progress; keep one'],
    },
  );
  t.end();
});

const tools = [
  idleTool('terminal', 'terminal'),
  idleTool('read_file', 'file'),
  idleTool('web_search', 'web'),
  idleTool('todo', 'todo'),
  idleTool('mcp__a__x', 'mcp-a'),
];
const names = (input: Partial<Parameters<typeof decideTools>[1]>) =>
  decideTools(tools, { surface: 'cli', ...input }).allowed.map(({ name }) => name);

t.test('cfg.18 agent.disabled_toolsets is subtracted last: neither a platform list nor a choice for the session brings them back', (t) => {
  t.same(names({ disabled: ['web'] }), ['terminal', 'read_file', 'todo', 'mcp__a__x']);
  t.same(names({ disabled: ['web', 'mcp'], platformToolsets: { cli: ['web', 'todo', 'mcp-a'] }, choices: { web: true } }), ['todo']);
  t.end();
});

t.test('cfg.19 platform_toolsets: an explicit list is exactly itself, a bare composite takes in toolsets that come later', (t) => {
  const later = [...tools, idleTool('session_search', 'brand_new')];
  const on = (entry: string | string[]) =>
    decideTools(later, { surface: 'gateway', platform: 'irc', platformToolsets: { irc: entry } }).allowed.map(({ name }) => name);
  t.same(on(['web', 'todo']), ['web_search', 'todo']);
  t.same(on('agent-irc'), ['web_search', 'todo', 'session_search']);
  t.same(on(['agent-irc']), ['web_search', 'todo', 'session_search']);
  t.same(
    names({ platformToolsets: { cli: ['web'] }, choices: { todo: true } }),
    ['web_search', 'todo'],
    'at the keyboard a session may add',
  );
  t.same(
    decideTools(tools, { surface: 'gateway', platform: 'irc', choices: { terminal: true, todo: false } }).allowed.map(({ name }) => name),
    ['web_search'],
    'in a chat it may only take away',
  );
  t.same(names({ safeMode: true }), ['terminal', 'read_file', 'web_search', 'todo'], 'safe mode has no tools of servers');
  t.end();
});
