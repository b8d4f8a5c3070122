/** Rows of the interface spec about slash commands, through `command.dispatch` of a real agent worker. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ResultOf } from '../../ipc/method.ts';
import { listBlueprints, listJobs } from '../../ipc/contracts/cron.ts';
import { eventsSince, sessionHistory, sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { commandDispatch } from '../../ipc/contracts/rpcCommands.ts';
import { promptBtw, sessionQueue, type contextBreakdown } from '../../ipc/contracts/rpcSessions.ts';
import { toolsList } from '../../ipc/contracts/rpcTools.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { fixture, node } from '../harness/mcp.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);

const home = testHome();
let worker = await startWorker(home, 'agent', { demo: true });
const cron = await startWorker(home, 'cron');
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  await cron[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

type Dispatched = ResultOf<typeof commandDispatch>;
const run = (client: AgentClient, session_id: string, line: string): Promise<Dispatched> =>
  client.link.call(commandDispatch, { session_id, line, surface: 'cli' });

async function busySession(client: AgentClient): Promise<string> {
  const session = await client.create();
  const from = client.events.length;
  await client.submit(session, 'slow: 60');
  await client.next('message.delta', () => true, from);
  return session;
}

const waiting = async (client: AgentClient, session_id: string) =>
  (await client.link.call(sessionQueue, { session_id, action: 'list' })).queued.map(({ text }) => text);

/** What stands in the session and whether the model still reads it, without summaries. */
const remembered = async (client: AgentClient, session_id: string) =>
  (await client.link.call(sessionHistory, { session_id })).messages
    .filter(({ kind, role }) => kind !== 'summary' && role === 'user')
    .map(({ content, in_context }) => [content, in_context]);

t.test('slash.1 /compress here [N] (or --keep N) summarises everything except the last N exchanges, default 2', async (t) => {
  using client = await connect(worker);
  const exchanges = [1, 2, 3, 4, 5].map((n) => `say: ${100 + n} words`);
  for (const [line, kept] of [
    ['/compress here', 2],
    ['/compress here 3', 3],
    ['/compress --keep 1', 1],
    ['/compress --keep=4 the numbers', 4],
  ] as const) {
    const session = await client.create();
    for (const text of exchanges) await client.turn(session, text);
    const before = (await client.link.call(sessionHistory, { session_id: session })).messages;
    const done = await run(client, session, line);
    t.match(done, { kind: 'text', name: 'compress', text: /^Compressed\. \d+ messages/ }, line);
    t.match(done.data, { status: 'compressed', removed: 2 * (5 - kept) }, line);
    t.same(
      await remembered(client, session),
      exchanges.map((text, at) => [text, at >= 5 - kept]),
      line,
    );
    const after = (await client.link.call(sessionHistory, { session_id: session })).messages;
    t.equal(after.filter(({ kind }) => kind === 'summary').length, 1, 'one summary stands for them');
    t.same(
      after.slice(-2 * kept).map(({ content }) => content),
      before.slice(-2 * kept).map(({ content }) => content),
      'kept verbatim',
    );
  }
});

t.test('slash.1 /compress takes a focus; with nothing to do it says so, and a wrong number says how it is written', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  await client.turn(session, 'say: 3 words');
  t.match(await run(client, session, '/compress here 2'), { kind: 'text', text: 'Not compressed: everything there is would be kept' });
  for (const words of [101, 102, 103]) await client.turn(session, `say: ${words} words`);
  t.match(
    (await run(client, session, '/compress the file names')).text,
    'everything there is would be kept',
    'by size, all of it is recent',
  );
  t.match((await run(client, session, '/compress here 1 the file names')).data, { status: 'compressed', removed: 6 });
  await t.rejects(run(client, session, '/compress here many'), { code: 'USAGE', fix: /here \[N\] \| --keep N \| focus/ });
});

t.test('slash.2 /queue: a bare prompt is put in line; list, edit, rm, move, clear and add manage it', async (t) => {
  using client = await connect(worker);
  const session = await busySession(client);
  t.match(await run(client, session, '/queue say: 1 word'), { kind: 'prompt', text: /Queued/, message_id: Number });
  await run(client, session, '/q add list');
  await run(client, session, '/queue list the open files');
  t.same(await waiting(client, session), ['say: 1 word', 'list', 'list the open files']);
  t.match((await run(client, session, '/queue list')).text, / 1 {2}say: 1 word\n {2}2 {2}list/);
  await run(client, session, '/queue move 3 1');
  t.same(await waiting(client, session), ['list the open files', 'say: 1 word', 'list']);
  await run(client, session, '/queue edit 2 say: 2 words');
  await run(client, session, '/queue rm 3');
  t.same(await waiting(client, session), ['list the open files', 'say: 2 words']);
  const told = client.events
    .filter(({ type }) => type === 'queue.updated')
    .map(({ payload }) => (payload.queued as { text: string }[]).map(({ text }) => text));
  t.same(told.at(-1), ['list the open files', 'say: 2 words'], 'surfaces are told');
  await t.rejects(run(client, session, '/queue rm 7'), { code: 'BAD_REQUEST' });
  const byNumber = (params: object) => client.link.call(sessionQueue, { session_id: session, ...params } as never);
  const [, second] = (await byNumber({ action: 'list' })).queued;
  await run(client, session, '/queue move 2 1');
  t.match(await byNumber({ action: 'edit', message_id: second!.id, text: 'say: 3 words' }), {
    queued: [{ text: 'say: 3 words' }, { text: 'list the open files' }],
  });
  await byNumber({ action: 'remove', message_id: second!.id });
  t.same(await waiting(client, session), ['list the open files'], 'a prompt is named by its number wherever it stands');
  await t.rejects(byNumber({ action: 'remove', message_id: second!.id }), { code: 'BAD_REQUEST', message: /waits no more/ });
  await run(client, session, '/queue clear');
  t.same(await waiting(client, session), []);
  await run(client, session, '/stop');
});

t.test('slash.2 /queue survives a restart, in its order, and the first one runs first', async (t) => {
  {
    using client = await connect(worker);
    const session = await busySession(client);
    for (const words of [1, 2, 3]) await run(client, session, `/queue say: ${words} words`);
    await run(client, session, '/queue move 3 1');
  }
  await worker.kill('SIGKILL');
  worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const session = (await client.link.call(sessionList, { limit: 1 })).sessions[0]!.id;
  const prompts = await until('all three have run', async () => {
    const { messages } = await client.link.call(sessionHistory, { session_id: session });
    const done = messages.filter(({ role, content }) => role === 'user' && content.startsWith('say:'));
    return messages.at(-1)?.finish_reason === 'stop' && done.length === 3 && done.map(({ content }) => content);
  });
  t.same(prompts, ['say: 3 words', 'say: 1 words', 'say: 2 words']);
});

t.test('slash.3 /btw answers from the conversation while a turn runs, and leaves the session as it was', async (t) => {
  using client = await connect(worker);
  const session = await busySession(client);
  const before = await client.link.call(sessionHistory, { session_id: session });
  const { data } = await run(client, session, '/btw say: 4 words');
  const { payload } = await client.next('btw.complete', ({ payload: found }) => found.task_id === (data as { task_id: string }).task_id);
  t.match(payload, { question: 'say: 4 words', text: 'alpha bravo charlie delta', error: null });
  t.same((await client.link.call(sessionHistory, { session_id: session })).messages, before.messages);
  t.same(await waiting(client, session), []);
  t.notOk(client.events.some(({ type, payload: found }) => type === 'message.complete' && found.status !== 'interrupted'));
  await run(client, session, '/stop');
});

t.test('ev.10 btw.complete is sent when a side question is answered, with the answer; it is replayed to who comes later', async (t) => {
  let session = '';
  {
    using client = await connect(worker);
    session = await client.create();
    await client.link.call(promptBtw, { session_id: session, text: 'say: 2 words' });
    await client.next('btw.complete');
  }
  using later = await connect(worker);
  const { events } = await later.link.call(eventsSince, { session_id: session, last_seen: 0 });
  t.match(
    events.filter(({ type }) => type === 'btw.complete'),
    [{ payload: { question: 'say: 2 words', text: 'alpha bravo' } }],
  );
});

t.test('rpc.11 prompt.submit sends a turn, prompt.btw asks a side question; a failed one says why and too many are refused', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  t.match((await client.turn(session, 'say: 1 word')).complete, { status: 'complete', text: 'alpha' });
  await client.link.call(promptBtw, { session_id: session, text: 'fail: 429' });
  t.match((await client.next('btw.complete')).payload, { text: '', error: /PROVIDER_FAILED/ });
  const asked = await Promise.allSettled(
    Array.from({ length: 6 }, () => client.link.call(promptBtw, { session_id: session, text: 'slow: 1' })),
  );
  t.equal(asked.filter(({ status }) => status === 'fulfilled').length, 4);
  t.match(
    asked.findLast(({ status }) => status === 'rejected'),
    { reason: { code: 'BUSY' } },
  );
});

t.test('slash.4 /bg works in a hidden session of its own and tells the one that asked', async (t) => {
  using client = await connect(worker);
  const session = await busySession(client);
  const { data } = await run(client, session, '/bg say: 5 words');
  const { payload } = await client.next('background.complete');
  t.match(payload, { task_id: (data as { task_id: string }).task_id, text: 'alpha bravo charlie delta echo', status: 'complete' });
  const { messages } = await client.link.call(sessionHistory, { session_id: session });
  t.notOk(
    messages.some(({ content }) => content.includes('5 words')),
    'the conversation that asked is untouched',
  );
  t.match((await client.link.call(sessionHistory, { session_id: payload.session_id as string })).messages, [
    { role: 'user' },
    { role: 'assistant' },
  ]);
  await run(client, session, '/stop');
});

t.test('slash.4 /bg survives the surface and the worker that started it: the result is told to who comes back', async (t) => {
  let session = '';
  {
    using client = await connect(worker);
    session = await client.create();
    await run(client, session, '/bg slow: 60');
  }
  await worker.kill('SIGKILL');
  worker = await startWorker(home, 'agent', { demo: true });
  using client = await connect(worker);
  const told = await until('the result is told', async () => {
    const { events } = await client.link.call(eventsSince, { session_id: session, last_seen: 0 });
    return events.find(({ type }) => type === 'background.complete');
  });
  t.match(told.payload, { status: 'interrupted' });
});

t.test('slash.5 /plan asks for a plan under .agent/plans/ that is not carried out, on every surface', async (t) => {
  using client = await connect(worker);
  for (const surface of ['cli', 'tui', 'desktop', 'api'] as const) {
    const session_id = await client.create();
    const from = client.events.length;
    t.match(await client.link.call(commandDispatch, { session_id, line: '/plan tidy the attic', surface }), {
      kind: 'prompt',
      message_id: Number,
    });
    await client.next('message.complete', () => true, from);
    const { messages } = await client.link.call(sessionHistory, { session_id });
    t.match(messages[0]!.content, /do not carry it out[\s\S]*Task: tidy the attic[\s\S]*\.agent\/plans\//, surface);
  }
});

t.test('slash.6 /fast takes auto and cold, switches over without a word, and refuses other words', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  await t.rejects(run(client, session, '/fast sometimes'), { code: 'USAGE', fix: '/fast [auto | cold | on | off | status]' });
  for (const [line, said, tier] of [
    ['/fast auto', 'Fast: auto', 'auto'],
    ['/fast cold', 'Fast: cold', 'cold'],
    ['/fast', 'Fast: off', 'normal'],
    ['/fast', 'Fast: on', 'fast'],
    ['/fast off', 'Fast: off', 'normal'],
    ['/fast on', 'Fast: on', 'fast'],
  ] as const) {
    t.match(await run(client, session, line), { kind: 'text', text: said }, line);
    t.match(await run(client, session, '/fast status'), { text: said });
    t.equal((await client.link.call(sessionResume, { session_id: session })).info.service_tier, tier, line);
  }
});

t.test('slash.7 /model takes --provider, --global, --session and --reasoning', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  const info = async (session_id: string) => (await client.link.call(sessionResume, { session_id })).info;
  t.match(await run(client, session, '/model rehearsal --provider demo --session --reasoning low'), {
    kind: 'text',
    text: /^Model: rehearsal, reasoning low, for this conversation/,
    data: { scope: 'session', info: { provider: 'demo', model: 'rehearsal', reasoning_effort: 'low' } },
  });
  t.match(await info(await client.create()), { reasoning_effort: null }, 'no other conversation has it');
  t.match(await run(client, session, '/model demo:rehearsal --global --reasoning high'), {
    text: /^Model: rehearsal, reasoning high, for every new conversation/,
    data: { scope: 'global' },
  });
  t.match(await info(session), { model: 'rehearsal', reasoning_effort: 'high' });
  t.match(await info(await client.create()), { model: 'rehearsal', reasoning_effort: 'high' });
  t.match(readFileSync(home.config, 'utf8'), /default: rehearsal/);
  await t.rejects(run(client, session, '/model gpt-5'), {
    code: 'UNKNOWN_MODEL',
    message: /only the scripted rehearsal/,
    fix: /list --all/,
  });
  await t.rejects(run(client, session, '/model x --provider nobody'), { code: 'UNKNOWN_MODEL', message: /nobody/ });
  await t.rejects(run(client, session, '/model rehearsal --reasoning enormous'), { code: 'MODEL_SWITCH_ERR_BAD_REASONING' });
  await t.rejects(run(client, session, '/model rehearsal --for-ever'), { code: 'BAD_REQUEST', message: /--for-ever/ });
});

t.test('slash.8 /login says that no account can be signed in to, and what serves instead', async (t) => {
  using client = await connect(worker);
  await t.rejects(run(client, await client.create(), '/login'), { code: 'PORTAL_UNAVAILABLE', fix: /provider/ });
});

t.test('slash.9 /context shows a table of categories, and each context file with its size and what it costs', async (t) => {
  using client = await connect(worker);
  const cwd = t.testdir({ '.git': {}, 'AGENTS.md': '# Rules\nBe kind to the cat.\n' });
  const session_id = await client.create({ source: 'cli', cwd });
  await client.turn(session_id, 'say: 3 words');
  const { text, data } = await run(client, session_id, '/context');
  t.match(text, /^rehearsal: [\d ]+ tokens\n/);
  t.match(text, / Tools \(\d+\) +[\d ]+ +\d+ %\n/);
  t.match(text, / Messages \(2\) +\d+ +\d+ %\n/);
  t.match(text, /\nContext files\n[^]*AGENTS\.md +\d+ characters +\d+ tokens +loaded/);
  const { categories, context_files } = data as ResultOf<typeof contextBreakdown>;
  t.ok(categories.some(({ id, tokens }) => id === 'context_files' && tokens > 0));
  t.match(
    context_files.find(({ path }) => path === join(cwd, 'AGENTS.md')),
    { status: 'loaded', est_tokens: Number },
  );
});

t.test('slash.10 /blueprint lists, asks one question after the other, and makes one job; /bp is the same', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  t.match((await run(client, session, '/blueprint')).text, /morning-briefing[\s\S]*reminder/);
  let asked = await run(client, session, '/bp reminder');
  t.match(asked, { kind: 'choice', text: /What should it say\?/, args: '/blueprint reminder what=' });
  asked = await run(client, session, `${asked.args}"water the plants" ...`);
  t.match(asked, {
    kind: 'choice',
    text: /At what time\?/,
    choices: [{ label: '09:00', line: '/blueprint reminder what="water the plants" time=09:00 ...' }],
  });
  t.match(await run(client, session, `${asked.args}"25:00" ...`), {
    kind: 'choice',
    text: /“25:00” will not do: a time of day/,
    args: asked.args,
  });
  asked = await run(client, session, asked.choices[0]!.line);
  t.match(asked, { text: /On which days\?/, choices: [{ label: 'every day' }, { label: 'Monday to Friday' }, {}] });
  t.match(await run(client, session, asked.choices[1]!.line), {
    kind: 'text',
    text: /Made the job “Reminder: water the plants”.*every weekday 09:00/,
  });
  t.match(await run(client, session, '/bp reminder what=tea schedule=2h'), { kind: 'text', text: /2h/ }, 'slot=value makes it at once');
  t.match((await run(client, session, '/cron')).text, /Reminder: water the plants +every weekday[\s\S]*Reminder: tea +2h/);
  await t.rejects(run(client, session, '/bp reminder colour=red'), { code: 'USAGE', fix: /what \[time\]/ });
  await t.rejects(run(client, session, '/bp reminder what=x time=25:00'), { code: 'INVALID_PARAMS', field: 'values.time' });
});

t.test('slash.10 /blueprint offers what agent cron blueprints offers, and what skills suggest; without cron it says so', async (t) => {
  const blueprint =
    'metadata: { agent: { blueprint: { schedule: "every {days} at {at}", slots: { days: { kind: weekdays, default: daily }, at: { kind: time, default: "07:30" } } } } }';
  using own = testHome({ 'skills/news/SKILL.md': `---\nname: news\ndescription: Reads the news.\n${blueprint}\n---\nText` });
  await using agent = await startWorker(own, 'agent', { demo: true });
  using client = await connect(agent);
  const session = await client.create();
  await t.rejects(run(client, session, '/bp'), { code: 'PEER_UNREACHABLE', message: /cron/, fix: /agent start cron/ });
  await using jobs = await startWorker(own, 'cron');
  using link = await jobs.dial();
  const offered = (await run(client, session, '/bp')).data as { blueprints: { key: string; skill: string | null }[] };
  t.same(
    offered.blueprints.map(({ key }) => key),
    [...(await link.call(listBlueprints, {})).blueprints.map(({ key }) => key), 'news'],
  );
  t.match(await run(client, session, '/bp news at=18:00 days=mon,thu'), { text: /Made the job “news”.*every mon,thu at 18:00/ });
  t.match((await link.call(listJobs, {})).jobs, [{ prompt: /^Use the skill "news"/, schedule: { words: /Monday/ } }]);
});

t.test('/insights says what the last days have used', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  await client.turn(session, 'say: 3 words');
  const { text, data } = await run(client, session, '/insights 2');
  t.match(text, /^Last 2 days: \d+ turns in \d+ conversations, \d+ model calls/);
  t.match(text, /\n\d{4}-\d\d-\d\d  █+ +\d+ turns, [\d ]+ in, [\d ]+ out\nModels: /);
  t.match(data, { totals: { turns: Number } });
});

t.test('slash.11 /reload-mcp asks first, since the cache starts anew', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  t.match(await run(client, session, '/reload-mcp'), {
    kind: 'choice',
    text: /cache/,
    choices: [{ line: '/reload-mcp now' }, { line: '' }],
  });
  t.match(await run(client, session, '/reload-mcp now'), { kind: 'text', text: 'No MCP server is configured.' });
});

t.test('slash.11 /reload-mcp reads the servers afresh and probes again what had failed; a conversation gets the tools', async (t) => {
  const dir = t.testdir({});
  const late = join(dir, 'late.ts');
  using own = testHome();
  const configure = (servers: object) => void own.write('config.yaml', JSON.stringify({ mcp_servers: servers }));
  configure({ steady: node(fixture('printsGarbage')), late: node(late) });
  await using broker = await startWorker(own, 'mcp');
  await using agent = await startWorker(own, 'agent', { demo: true });
  using client = await connect(agent);
  const session_id = await client.create();
  const offered = async () =>
    (await client.link.call(toolsList, { session_id })).toolsets
      .flatMap(({ tools }) => tools.map(({ name }) => name))
      .filter((name) => name.startsWith('mcp__'));
  t.same(await offered(), ['mcp__steady__hi'], 'the other one cannot start');
  t.match(await run(client, session_id, '/reload-mcp now'), {
    text: /^2 MCP servers, 1 tool\.\nlate does not answer: /,
    data: { added: [], removed: [], failed: [{ name: 'late' }] },
  });
  writeFileSync(late, `import ${JSON.stringify(fixture('printsGarbage'))};\n`);
  t.match(await run(client, session_id, '/reload-mcp now'), {
    text: '2 MCP servers, 2 tools.\n+ mcp__late__hi',
    data: { failed: [] },
  });
  t.same((await offered()).toSorted(), ['mcp__late__hi', 'mcp__steady__hi']);
  configure({ late: node(late) });
  t.equal((await run(client, session_id, '/reload-mcp now')).text, '1 MCP server, 1 tool.\n- mcp__steady__hi');
  configure({});
  t.equal((await run(client, session_id, '/reload-mcp now')).text, 'No MCP server is configured.\n- mcp__late__hi');
  configure({ late: node(late) });
  await broker.kill('SIGKILL');
  await t.rejects(run(client, session_id, '/reload-mcp now'), { code: 'PEER_UNREACHABLE', message: /mcp/, fix: /agent start mcp/ });
});

t.test('rpc.13 command.dispatch runs a built-in slash command by name, alias and beginning; others name the nearest', async (t) => {
  using client = await connect(worker);
  const session = await client.create();
  for (const line of ['/version', 'version', '/VERS', '/versi'])
    t.match(await run(client, session, line), { kind: 'text', name: 'version', text: /^agent \d/ }, line);
  t.match(await run(client, session, '/exit'), { kind: 'local', name: 'quit' });
  await t.rejects(run(client, session, '/versoin'), { code: 'UNKNOWN_COMMAND', fix: /\/version/, facts: { nearest: ['/version'] } });
  t.match(await run(client, session, '/usr/bin/env is a program'), { kind: 'prompt', message_id: Number });
  await client.next('message.complete');
  const busy = await busySession(client);
  await t.rejects(run(client, busy, '/undo'), { code: 'BUSY', fix: /\/stop/ });
  t.match(await run(client, busy, '/status'), { text: /working/ });
  t.match(await run(client, busy, '/stop'), { text: 'Stopped.' });
});
