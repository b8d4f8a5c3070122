/** A terminal conversation over a real socket: questions asked, shown, answered, withdrawn, back after a reconnect; and a service that is gone. */
import { join } from 'node:path';
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { Conversation, type ChatEvent, type ConversationHost } from '../../chat/conversation.ts';
import * as rpc from '../../ipc/contracts/rpc.ts';
import { approvalRequest, requestAnswer, requestShown, type OpenRequest } from '../../ipc/contracts/rpcRequests.ts';
import { dial } from '../../ipc/dial.ts';
import { handle, type Link } from '../../ipc/link.ts';
import { serve } from '../../ipc/serve.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { sessionInfo } from '../harness/records.ts';

const params = {
  session_id: 'ses_1',
  request_id: 'req_1',
  tool_name: 'terminal',
  command: 'rm -r build',
  reasons: ['it deletes files'],
  description: '',
  choices: ['once' as const, 'deny' as const],
};

/** An agent that knows one session and keeps what clients say about requests. */
async function fakeAgent(socket: string, open: OpenRequest[]) {
  const said: unknown[] = [];
  const links: Link[] = [];
  const server = await serve({
    path: socket,
    slot: 'agent',
    token: 'token',
    code: 'c',
    nonce: 'n',
    handlers: [
      handle(rpc.sessionCreate, (_, { link }) => {
        links.push(link);
        return { session_id: 'ses_1', messages: [], message_count: 0, info: sessionInfo };
      }),
      handle(rpc.eventsSince, (_, { link }) => {
        links.push(link);
        return { events: [], latest_seq: 0, truncated: false, count: 0, epoch: 'e', open_requests: open };
      }),
      handle(requestShown, ({ request_id }) => {
        said.push(['shown', request_id]);
        return { acknowledged: true, expires_at: null };
      }),
      handle(requestAnswer, ({ request_id, result }) => {
        said.push(['answer', request_id, result]);
        return { status: 'ok' as const };
      }),
    ],
  });
  return { server, said, links };
}

t.test('a request is answered on its own frame; after a reconnect it is open again and answered by its id', async (t) => {
  using home = testHome();
  const socket = join(home.root, 'a.sock');
  const open: OpenRequest[] = [];
  const { server, said, links } = await fakeAgent(socket, open);
  t.teardown(() => server[Symbol.asyncDispose]());
  const host: ConversationHost = {
    dial: (notices, signal, handlers = []) => dial(socket, { token: 'token', slot: 'cli', notices, handlers, signal, startingMs: 5_000 }),
  };
  const { conversation } = await Conversation.open(host, { surface: 'cli', answers: true });
  using opened = conversation;
  const events: ChatEvent[] = [];
  opened.listen((event) => void events.push(event));

  const first = links[0]!.call(approvalRequest, params);
  await until('the card', () => events.find(({ type }) => type === 'request.open'));
  t.match(events.at(-1), { id: 'req_1', method: 'approval', params: { command: 'rm -r build' } });
  await opened.shown('req_1');
  t.ok(await opened.answer('req_1', { choice: 'once' }));
  t.same(await first, { choice: 'once' });

  void links[0]!.call(approvalRequest, { ...params, request_id: 'req_2' }).catch(() => {});
  await until('the second card', () => events.some((event) => event.type === 'request.open' && event.id === 'req_2'));
  open.push({
    id: 'req_2',
    method: 'approval',
    params: { ...params, request_id: 'req_2' },
    asked_at: new Date().toISOString(),
    expires_at: null,
  });
  links[0]!.destroy();
  await until('it is open again', () => events.filter((event) => event.type === 'request.open' && event.id === 'req_2').length === 2);
  t.ok(await opened.answer('req_2', { choice: 'deny' }));
  t.same(said, [
    ['shown', 'req_1'],
    ['answer', 'req_2', { choice: 'deny' }],
  ]);
});

t.test('a service that is gone as a whole is waited for and told; one that comes back is gone on with', async (t) => {
  using home = testHome();
  const socket = join(home.root, 'a.sock');
  const { server, links } = await fakeAgent(socket, []);
  t.teardown(() => server[Symbol.asyncDispose]());
  let isDown = false;
  const host: ConversationHost = {
    dial: (notices, signal) => {
      if (isDown) return Promise.reject(new AgentError('NO_SUPERVISOR', 'no supervisor runs', { fix: 'start it' }));
      return dial(socket, { token: 'token', slot: 'cli', notices, signal, startingMs: 5_000 });
    },
  };
  using opened = (await Conversation.open(host, { surface: 'cli', absentMs: 2_000 })).conversation;
  const seen: ChatEvent[] = [];
  opened.listen((event) => void seen.push(event));
  const types = () => seen.map(({ type }) => type);

  isDown = true;
  links.at(-1)!.destroy();
  await until('it is missed', () => types().includes('connection.absent'));
  isDown = false;
  await until('it is back', () => types().includes('connection.back'));
  t.same(types(), ['connection.lost', 'connection.absent', 'connection.back']);

  isDown = true;
  links.at(-1)!.destroy();
  await until('it is given up', () => types().includes('connection.failed'));
  t.same(types().slice(3), ['connection.lost', 'connection.absent', 'connection.failed'], 'missed anew, told once');
  t.match(seen.at(-1), { error: { code: 'NO_SUPERVISOR' } });
});
