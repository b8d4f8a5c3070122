/** The registry of slash commands: what a line means, and who may say it. */
import t from 'tap';
import { slotValues } from '../../agent/commands/blueprint.ts';
import { filled, skillBlueprint } from '../../agent/commands/blueprints.ts';
import { completeLine } from '../../agent/commands/complete.ts';
import { dispatch } from '../../agent/commands/dispatch.ts';
import type { CommandHost, Surface } from '../../agent/commands/host.ts';
import { availableOn, commandWords, findCommand, registry } from '../../agent/commands/registry.ts';

/** Answers of the host by method; a function gets the parameters. */
function hostOf(answers: Record<string, unknown> = {}, more: Partial<CommandHost> = {}): CommandHost & { calls: [string, unknown][] } {
  const calls: [string, unknown][] = [];
  const call = async (name: string, params: unknown): Promise<unknown> => {
    calls.push([name, params]);
    if (!(name in answers)) throw new Error(`${name} was not expected`);
    return answers[name];
  };
  return {
    calls,
    surface: 'cli',
    session: { id: 'ses_1', title: null, platform: null },
    user: null,
    origin: null,
    busy: () => false,
    call: call as CommandHost['call'],
    startNew: async () => ({ sessionId: 'ses_2' }),
    findSession: () => undefined,
    sideAnswer: () => null,
    facts: () => ({ version: '1.2.3', profile: 'default', home: '/h', model: null, provider: null, scripted: false, cwd: '/', tools: 0 }),
    usageOfDays: () => ({ turns: 0, sessions: 0, model_calls: 0, tool_calls: 0, days: [], models: [] }),
    reloadEnv: () => 0,
    personalities: () => ({}),
    quickCommands: () => ({}),
    ...more,
  };
}

t.test('a beginning will do in any case; exact names and other names win; of several the first in order is meant', async (t) => {
  const meant = (word: string) => findCommand(word, availableOn('cli'))?.name;
  t.same(['model', 'MOD', 'q', 'bp', 'fork', 'st', 'sta', 'res', 'exit', 'ctx', 'reload', 'reload-m', 'reload_mcp', 'nothing'].map(meant), [
    'model',
    'model',
    'queue',
    'blueprint',
    'branch',
    'stop',
    'status',
    'resume',
    'quit',
    'context',
    'reload',
    'reload-mcp',
    'reload-mcp',
    undefined,
  ]);
});

t.test('every name and other name is there once; each command says what it does, and is run by somebody', async (t) => {
  const names = registry.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
  t.equal(new Set(names).size, names.length);
  t.same(
    registry.filter(({ run, local }) => Boolean(run) === Boolean(local)).map(({ name }) => name),
    [],
  );
  t.same(
    registry.filter(({ summary }) => !/^[a-z].*[^.]$/.test(summary)).map(({ name }) => name),
    [],
  );
});

t.test('a path or a number is talk, an @name behind a command is dropped', async (t) => {
  t.same(
    ['/usr/bin/env', '/ 2', '/2', '//x', '/plan@bot tidy up', 'help'].map((line) => commandWords(line)),
    [undefined, undefined, undefined, undefined, { word: 'plan', args: 'tidy up' }, { word: 'help', args: '' }],
  );
});

t.test('what belongs to the owner of the machine is not for a chat', async (t) => {
  const surface: Surface = 'gateway';
  const inChat = availableOn(surface).map(({ name }) => name);
  t.same(
    ['yolo', 'config', 'reload', 'resume', 'sessions', 'history', 'memory', 'quit'].filter((name) => inChat.includes(name)),
    [],
  );
  for (const line of ['/yolo', '/config model.default', '/model x --global', '/cron rm 1', '/skills disable x'])
    await t.rejects(dispatch(hostOf({}, { surface }), line), { code: /UNKNOWN_COMMAND|USAGE/ }, line);
});

t.test('while a turn runs, what would pull the rug from under it is refused', async (t) => {
  const host = hostOf({ 'session.interrupt': { status: 'interrupted' } }, { busy: () => true });
  for (const line of ['/undo', '/retry', '/compress']) await t.rejects(dispatch(host, line), { code: 'BUSY' }, line);
  t.match(await dispatch(host, '/stop'), { text: 'Stopped.' });
});

t.test('/compress knows here, --keep and a focus', async (t) => {
  const cases: [string, unknown][] = [
    ['/compress', {}],
    ['/compress here', { keep: 2 }],
    ['/compress here 5', { keep: 5 }],
    ['/compress HERE 5 the plan', { keep: 5, focus: 'the plan' }],
    ['/compress --keep 0', { keep: 0 }],
    ['/compress --keep=3', { keep: 3 }],
    ['/compress file names and decisions', { focus: 'file names and decisions' }],
  ];
  for (const [line, want] of cases) {
    const host = hostOf({
      'session.compress': { status: 'aborted', note: 'Nothing to gain.', removed: 0, before_tokens: 1, after_tokens: 1 },
    });
    await dispatch(host, line);
    t.same(host.calls, [['session.compress', want]], line);
  }
});

t.test('a skill is a command; an alias of the user stands for a line; one that runs a program is refused; none for ever', async (t) => {
  const quickCommands = () => ({
    review: { type: 'alias' as const, target: 'plan review' },
    loop: { type: 'alias' as const, target: '/loop' },
    disk: { type: 'exec' as const, command: 'df -h' },
  });
  const skills = [
    { name: 'Gardening', description: 'grows things', category: 'x', enabled: true, hidden_because: null, has_blueprint: false },
  ];
  const host = hostOf(
    { 'skills.list': { skills, problems: [] }, 'prompt.submit': { status: 'streaming', message_id: 7 } },
    { quickCommands },
  );
  t.match(await dispatch(host, '/gardening the roses'), { kind: 'prompt', messageId: 7 });
  t.match(host.calls.at(-1), ['prompt.submit', { text: /skill "Gardening"[\s\S]*the roses/ }]);
  await dispatch(host, '/review the fence');
  t.match(host.calls.at(-1), ['prompt.submit', { text: /Task: review the fence/ }]);
  await t.rejects(dispatch(host, '/disk'), { code: 'USAGE', message: /runs a program/ });
  await t.rejects(dispatch(host, '/loop'), { code: 'USAGE' });
  t.match((await completeLine(host, '/gar')).items, [{ text: '/Gardening ', label: '/Gardening' }]);
});

t.test('completion: names, fixed words, and lists of the host; a list that cannot be had offers nothing', async (t) => {
  const host = hostOf({
    'skills.list': { skills: [], problems: [] },
    'session.queue': { queued: [{ id: 1, text: 'first' }] },
    'model.options': {
      current: {},
      providers: [{ name: 'openai', usable: true, problem: null, models: [{ id: 'gpt-5' }] }],
      aliases: { fast: 'openai:gpt-5-mini' },
    },
  });
  const texts = async (line: string) => {
    const { replace_from, items } = await completeLine(host, line);
    return [replace_from, ...items.map(({ text }) => text)];
  };
  t.same(await texts('/vers'), [0, '/version']);
  t.same(await texts('/fast c'), [6, 'cold']);
  t.same(await texts('/queue '), [7, 'list', 'edit', 'rm', 'move', 'clear', 'add']);
  t.same(await texts('/queue rm '), [10, '1']);
  t.same(await texts('/model g'), [7, 'openai:gpt-5']);
  t.same(await texts('/model x --reasoning hi'), [21, 'high']);
  t.same(await texts('/cron rm '), [9]);
  t.same(await texts('hello'), [5]);
});

t.test('values of a blueprint: quotes, and words that go on with the last one', async (t) => {
  t.same(slotValues('what="a \\"b\\" c" when=2h'), { what: 'a "b" c', when: '2h' });
  t.same(slotValues('what=feed the cat when=30m'), { what: 'feed the cat', when: '30m' });
  t.throws(() => slotValues('feed'), { code: 'USAGE' });
  t.equal(filled('{time:cron}', { time: '7:05' }), '5 7 * * *');
  t.throws(() => filled('{time:cron}', { time: '25:00' }), { code: 'BAD_SCHEDULE' });
});

t.test('a skill declares a blueprint in its frontmatter, slots as a list or a map; without a schedule it says so', async (t) => {
  const skill = (blueprint: string) => `---\nname: water\nmetadata:\n  acme:\n    blueprint: ${blueprint}\n---\nText`;
  t.match(skillBlueprint('water', skill('{ schedule: "every {every}", slots: [{ name: every, default: 1d }, place] }')), {
    key: 'water',
    schedule: 'every {every}',
    slots: [
      { name: 'every', default: '1d' },
      { name: 'place', label: 'place?' },
    ],
  });
  t.match(skillBlueprint('water', skill('{ schedule: 1h, slots: { place: { label: Where? }, every: 2 } }')), {
    slots: [{ label: 'Where?' }, { default: '2' }],
  });
  t.equal(skillBlueprint('water', 'no frontmatter'), undefined);
  t.throws(() => skillBlueprint('water', skill('{ prompt: x }')), { code: 'BAD_REQUEST' });
});
