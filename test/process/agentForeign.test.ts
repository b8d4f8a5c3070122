/** Tools of MCP servers in a conversation: who is asked before one runs, and what is said when one is redefined. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { listTools } from '../../ipc/contracts/mcp.ts';
import { sessionAttachment, sessionAttachments } from '../../ipc/contracts/rpcAttachments.ts';
import { answerApproval, connect, useTool } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { fixture, node } from '../harness/mcp.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

// A machine busy with other tests needs longer than tap's 30 s.
t.setTimeout(240_000);

const servers = {
  known: node(fixture('hinted')),
  strange: node(fixture('hinted'), { trust: 'untrusted' }),
  odd: node(fixture('hinted'), { trust: 'perhaps', connect_timeout: 61 }),
  artist: node(fixture('draws')),
  trusted: node(fixture('hinted'), { trust: 'full', connect_timeout: 62 }),
};
const home = testHome({ 'config.yaml': JSON.stringify({ mcp_servers: servers }) });
const broker = await startWorker(home, 'mcp');
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  await broker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('destructive tools are asked about; of an untrusted server every tool that does not claim to read only', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  const use = (server: string, tool: string) => useTool(client, sessionId, `mcp__${server}__${tool}`, {});
  for (const [server, tool] of [
    ['known', 'reads'],
    ['known', 'plain'],
    ['strange', 'reads'],
    ['trusted', 'destroys'],
  ] as const) {
    t.match(await use(server, tool), { is_error: false, result_text: /^ran/ }, `${server} ${tool} is not asked about`);
  }
  for (const [server, tool] of [
    ['known', 'destroys'],
    ['strange', 'plain'],
    ['odd', 'plain'],
  ] as const) {
    const [asked, complete] = await Promise.all([answerApproval(client, sessionId, 'deny'), use(server, tool)]);
    t.match(asked, { tool_name: `mcp__${server}__${tool}`, command: `mcp__${server}__${tool} {}` });
    t.match(complete, { is_error: true }, `${server} ${tool} did not run`);
  }
});

t.test('a redefined tool is announced, and what was allowed of it is asked about again', async (t) => {
  using client = await connect(worker);
  const sessionId = await client.create();
  const use = (tool: string) => useTool(client, sessionId, `mcp__strange__${tool}`, {});
  await Promise.all([answerApproval(client, sessionId, 'session'), use('plain')]);
  t.match(await use('plain'), { is_error: false }, 'allowed for the session');
  await use('redefine');
  using link = await broker.dial();
  await until('the new description is listed', async () =>
    (await link.call(listTools, {})).tools.some(({ name, description }) => name === 'mcp__strange__plain' && /id_rsa/.test(description)),
  );
  const from = client.events.length;
  const [, complete] = await Promise.all([answerApproval(client, sessionId, 'deny'), use('plain')]);
  t.match(complete, { is_error: true });
  const notices = client.events.slice(from).filter(({ type }) => type === 'notice');
  t.match(notices, [{ payload: { text: /mcp__strange__plain/, level: 'warn' } }]);
  t.equal(notices.length, 1);
  await use('reads');
  t.equal(client.events.slice(from).filter(({ type }) => type === 'notice').length, 1, 'once');
});

t.test('an image of a result is kept with its message, for the model and for surfaces', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  t.match(await useTool(client, session_id, 'mcp__artist__draw', {}), { is_error: false, result_text: /^drawn\n\[image image\/png/ });
  const { files } = await client.link.call(sessionAttachments, { session_id });
  t.match(files, [{ kind: 'image', name: 'mcp__artist__draw-1.png', media_type: 'image/png' }]);
  t.equal(files.length, 1, 'what is no image is left out');
  t.match(await client.link.call(sessionAttachment, { session_id, attachment: files[0]!.id }), {
    media_type: 'image/png',
    data_base64: /^iVBOR/,
  });
});

t.test('the result of a call whose picture cannot be stored is the result, without the picture', async (t) => {
  using client = await connect(worker);
  const session_id = await client.create();
  rmSync(join(home.root, 'attachments'), { recursive: true, force: true });
  home.write('attachments', 'not a folder');
  t.teardown(() => rmSync(join(home.root, 'attachments')));
  t.match(await useTool(client, session_id, 'mcp__artist__draw', {}), { is_error: false, result_text: /^drawn\n[\s\S]*left out/ });
});
