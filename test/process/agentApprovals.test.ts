import t from 'tap';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { drain } from '../../ipc/contracts/peer.ts';
import { eventsSince, promptSubmit, sessionInterrupt, sessionList, sessionResume } from '../../ipc/contracts/rpc.ts';
import { commandDispatch } from '../../ipc/contracts/rpcCommands.ts';
import type { EventParams } from '../../ipc/contracts/rpcEvents.ts';
import {
  approvalPending,
  approvalRequest,
  approvalRespond,
  approvalRules,
  clarifyRequest,
  requestAnswer,
  requestShown,
  type ApprovalChoice,
  type ApprovalParams,
} from '../../ipc/contracts/rpcRequests.ts';
import { handle } from '../../ipc/link.ts';
import { connect, type AgentClient } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome({ 'config.yaml': 'approvals: { timeout_seconds: 3 }\n' });
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

/** A folder that a denied `rm -r` must leave. */
function folder(name: string): string {
  const dir = join(home.root, name);
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'file'), '');
  return dir;
}

/** A client that shows each approval card and answers it when told to. */
function cards(client: AgentClient) {
  const seen: ApprovalParams[] = [];
  const answers: ((choice: ApprovalChoice) => void)[] = [];
  const withdrawn: string[] = [];
  client.link.handle(
    handle(approvalRequest, (params, { signal }) => {
      seen.push(params);
      signal.addEventListener('abort', () => withdrawn.push(params.request_id));
      return new Promise((resolve) => answers.push((choice) => resolve({ choice })));
    }),
  );
  return { seen, answers, withdrawn };
}

const openOf = (client: AgentClient, session_id: string) =>
  until('an open request', async () => (await client.link.call(approvalPending, { session_id })).requests[0]);
const result = (events: EventParams[]) => events.find(({ type }) => type === 'tool.complete')?.payload;

t.test('a dangerous command is asked about with its reasons, runs once it is allowed, and not when it is denied', async (t) => {
  using client = await connect(worker);
  const { seen, answers } = cards(client);
  const sessionId = await client.create();
  const dir = folder('denied');
  const denied = client.turn(sessionId, `run: rm -r ${dir}`);
  await until('the card', () => seen.length === 1);
  t.match(seen[0], {
    session_id: sessionId,
    request_id: /^req_/,
    tool_name: 'terminal',
    command: `rm -r ${dir}`,
    reasons: ['rm -r deletes folders with everything in them'],
    choices: ['once', 'session', 'deny'],
    rule: `rm -r ${dir} (in ${seen[0]!.rule!.split('(in ')[1]}`,
  });
  t.match(await client.link.call(sessionResume, { session_id: sessionId }), {
    status: 'waiting',
    open_requests: [{ id: seen[0]!.request_id, method: 'approval', expires_at: null }],
  });
  t.match((await client.link.call(sessionList, {})).sessions, [{ id: sessionId, status: 'waiting' }]);
  answers[0]!('deny');
  t.match(result((await denied).events), {
    is_error: true,
    result_text: /^DENIED: the user denied this.*do not try to reach the same effect another way/,
  });
  t.ok(existsSync(dir), 'nothing ran');

  const allowed = client.turn(sessionId, `run: rm -r ${dir}`);
  await until('the card', () => seen.length === 2);
  answers[1]!('once');
  t.match(result((await allowed).events), { is_error: false });
  t.notOk(existsSync(dir), 'it ran');
  t.match(await client.link.call(sessionResume, { session_id: sessionId }), { status: 'idle', open_requests: [] });
});

t.test('what is allowed for a session is not asked again there, and is in another one', async (t) => {
  using client = await connect(worker);
  const { seen, answers } = cards(client);
  const [one, other] = [await client.create(), await client.create()];
  const dir = folder('a');
  const first = client.turn(one, `run: rm -r ${dir}`);
  await until('the card', () => seen.length === 1);
  answers[0]!('session');
  await first;
  folder('a');
  t.match(result((await client.turn(one, `run: rm -r ${dir}`)).events), { is_error: false }, 'the same line passes');
  t.equal(seen.length, 1);
  const precious = folder('precious');
  const alike = client.turn(one, `run: rm -r ${precious}`);
  await until('the card', () => seen.length === 2);
  answers[1]!('deny');
  await alike;
  t.ok(existsSync(precious), 'what only looks alike is asked about');
  const again = client.turn(other, `run: rm -r ${folder('c')}`);
  await until('the card', () => seen.length === 3);
  answers[2]!('deny');
  await again;
});

t.test('what is allowed for good is on record, holds in every session, and can be taken back', async (t) => {
  using client = await connect(worker);
  const { seen, answers } = cards(client);
  const first = client.turn(await client.create(), 'run: pkill -x no-such-program-zz');
  await until('the card', () => seen.length === 1);
  answers[0]!('always');
  await first;
  const { rules } = await client.link.call(approvalRules, {});
  t.match(rules, [{ id: /^rule_/, rule: /^pkill -x no-such-program-zz \(in /, tool_name: 'terminal', chat: null }]);
  await client.turn(await client.create(), 'run: pkill -x no-such-program-zz');
  t.equal(seen.length, 1, 'not asked again');
  t.same((await client.link.call(approvalRules, { remove: rules[0]!.id })).rules, []);
  await t.rejects(client.link.call(approvalRules, { remove: rules[0]!.id }), { code: 'NOT_FOUND' });
  const again = client.turn(await client.create(), 'run: pkill -x no-such-program-zz');
  await until('the card', () => seen.length === 2);
  answers[1]!('deny');
  await again;
});

t.test('the blocklist is never asked about and holds whatever the mode', async (t) => {
  using client = await connect(worker);
  const { seen } = cards(client);
  t.match(result((await client.turn(await client.create(), 'run: rm -rf /')).events), {
    is_error: true,
    result_text: /^BLOCKED: .*root of the file system/,
  });
  t.match(result((await client.turn(await client.create(), `run: cat ${home.root}/.env`)).events), {
    is_error: true,
    result_text: /^BLOCKED: .*secret/,
  });
  t.equal(seen.length, 0);
});

t.test('the first answer of several clients counts, and the card goes from the others', async (t) => {
  using one = await connect(worker);
  using two = await connect(worker);
  using three = await connect(worker);
  const [a, b] = [cards(one), cards(two)];
  const sessionId = await one.create();
  for (const client of [two, three]) await client.link.call(sessionResume, { session_id: sessionId });
  const turn = one.turn(sessionId, `run: rm -r ${folder('d')}`);
  await until('both cards', () => a.seen.length === 1 && b.seen.length === 1);
  t.equal(a.seen[0]!.request_id, b.seen[0]!.request_id, 'the third does not know the question and is no answer');
  b.answers[0]!('once');
  t.match(result((await turn).events), { is_error: false });
  const id = a.seen[0]!.request_id;
  for (const client of [one, two, three])
    t.match((await client.next('request.cancel')).payload, { id, method: 'approval', reason: 'resolved' });
  await until('it is taken back', () => a.withdrawn.includes(id));
  t.same(await one.link.call(requestAnswer, { session_id: sessionId, request_id: id, result: { choice: 'deny' } }), { status: 'expired' });
});

t.test('a question survives the client that saw it; one that comes later finds and answers it', async (t) => {
  const first = await connect(worker);
  const { seen } = cards(first);
  const sessionId = await first.create();
  await first.submit(sessionId, `run: rm -r ${folder('e')}`);
  await until('the card', () => seen.length === 1);
  first.link.destroy();
  using later = await connect(worker);
  const { open_requests, latest_seq } = await later.link.call(eventsSince, { session_id: sessionId, last_seen: 0 });
  t.match(open_requests, [{ id: seen[0]!.request_id, method: 'approval', params: { command: /^rm -r/ } }]);
  t.ok(latest_seq > 0);
  await t.rejects(later.link.call(requestAnswer, { session_id: sessionId, request_id: seen[0]!.request_id, result: { choice: 'maybe' } }), {
    code: 'BAD_REQUEST',
  });
  t.same(await later.link.call(requestAnswer, { session_id: sessionId, request_id: seen[0]!.request_id, result: { choice: 'once' } }), {
    status: 'ok',
  });
  t.match((await later.next('message.complete')).payload, { status: 'complete' });
  t.notOk(existsSync(join(home.root, 'e')));
});

t.test('the clock of a question starts when it is shown; then it runs out as a no', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  const dir = folder('f');
  const from = client.events.length;
  await client.submit(sessionId, `run: rm -r ${dir}`);
  const { id, expires_at } = await openOf(client, sessionId);
  t.equal(expires_at, null, 'unseen');
  const shown = await client.link.call(requestShown, { session_id: sessionId, request_id: id });
  t.match(shown, { acknowledged: true, expires_at: /^20/ });
  t.same(await client.link.call(requestShown, { session_id: sessionId, request_id: id }), shown, 'saying so twice changes nothing');
  t.match((await client.next('request.cancel', undefined, from)).payload, { id, reason: 'timeout' });
  t.match((await client.next('tool.complete', undefined, from)).payload, { is_error: true, result_text: /nobody answered in time/ });
  t.ok(existsSync(dir));
  t.same(await client.link.call(requestShown, { session_id: sessionId, request_id: id }), { acknowledged: false, expires_at: null });
});

t.test('an interrupt withdraws the question at once', async (t) => {
  using client = await connect(worker);
  const { seen, withdrawn } = cards(client);
  const sessionId = await client.create();
  const turn = client.turn(sessionId, 'run: rm -r nothing');
  await until('the card', () => seen.length === 1);
  await client.link.call(sessionInterrupt, { session_id: sessionId });
  t.match((await turn).complete, { status: 'interrupted' });
  t.match((await client.next('request.cancel')).payload, { reason: 'interrupted' });
  await until('withdrawn', () => withdrawn.length === 1);
});

t.test('approval.respond answers the oldest, one by id, or all', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  t.same(await client.link.call(approvalRespond, { session_id: sessionId }), { resolved: 0 });
  const turn = client.turn(sessionId, `run: rm -r ${folder('g')}`);
  const { id } = await openOf(client, sessionId);
  t.same(await client.link.call(approvalRespond, { session_id: sessionId, request_id: 'req_none' }), { resolved: 0 });
  t.same(await client.link.call(approvalRespond, { session_id: sessionId, choice: 'once', request_id: id }), { resolved: 1 });
  t.match(result((await turn).events), { is_error: false });
});

t.test('nobody is asked in scheduled and one-shot turns: the settings decide, and the model is told', async (t) => {
  using client = await connect(worker);
  const { seen } = cards(client);
  const sessionId = await client.create();
  const from = client.events.length;
  await client.link.call(promptSubmit, { session_id: sessionId, text: 'run: rm -r nothing', unattended: true });
  t.match((await client.next('tool.complete', undefined, from)).payload, {
    is_error: true,
    result_text: /^NOT RUN: .*nobody can be asked in a one-shot prompt; approvals\.single_query_mode is deny/,
  });
  await client.next('message.complete', undefined, from);
  t.equal(seen.length, 0);
});

t.test('the model asks the user, and reads the answers; a decline is one too', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  let answer: { answers?: Record<string, string | null> } = { answers: { q1: 'blue', q2: null } };
  client.link.handle(
    handle(clarifyRequest, ({ questions }) => {
      t.match(questions[0], { qid: 'q1', question: 'Which colour?', choices: ['red', 'blue'] });
      return answer;
    }),
  );
  const ask = 'tool: clarify {"questions":[{"question":"Which colour?","choices":["red","blue"]},{"question":"Why?"}]}';
  t.match(result((await client.turn(sessionId, ask)).events), {
    is_error: false,
    result_text: 'Which colour?\n→ blue\n\nWhy?\n→ (not answered: decide yourself)',
  });
  answer = {};
  t.match(result((await client.turn(sessionId, ask)).events), { is_error: false, result_text: /^No answer: the user declined/ });
});

t.test('a drain withdraws what waits for a person and does not wait for them', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  await client.submit(sessionId, 'run: rm -r nothing');
  await openOf(client, sessionId);
  // Hidden work waits for a person in the session that began it.
  const [parent, idle] = [await client.create(), await client.create()];
  await client.submit(parent, `tool: delegate_task ${JSON.stringify({ goal: 'run: rm -r nothing' })}`);
  await client.link.call(commandDispatch, { session_id: idle, line: '/bg run: rm -r nothing', surface: 'cli' });
  for (const id of [parent, idle]) await openOf(client, id);
  const deadline_ms = 60_000;
  const { drained_ms } = await client.link.call(drain, { deadline_ms });
  t.ok(drained_ms < deadline_ms);
  t.match((await client.next('request.cancel')).payload, { reason: 'shutdown' });
  t.match((await client.next('message.complete')).payload, { status: 'interrupted', error: { code: 'DRAINING' } });
});
