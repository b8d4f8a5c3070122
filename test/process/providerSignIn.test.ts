/** Signing in at model providers against a real OAuth server: flows, the bearer of a model call, renewals, and what must not get lost. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { signInCancel, signInPoll, signInProviders, signInStart, signInSubmit, signOut } from '../../ipc/contracts/rpcSignIn.ts';
import type { Link } from '../../ipc/link.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { cliService } from '../harness/cliService.ts';
import { connect } from '../harness/agentClient.ts';
import { testHome } from '../harness/home.ts';
import { startIdentityProvider, walkForms, type IdentityProvider } from '../harness/identityProvider.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(240_000);
await using openai = await startOpenAi();

function configOf(server: IdentityProvider, more: Record<string, string> = {}): string {
  return `model: { provider: web, default: gpt-5 }
model_catalog: { detect_local: false }
providers:
  llm: { base_url: "${openai.url}", oauth: ${server.oauth('device_code')} }
  web: { base_url: "${openai.url}", oauth: ${server.oauth('pkce', more)} }
  keyed: { base_url: "${openai.url}" }
`;
}

const approved = (link: Link, flow_id: string) =>
  until('the sign-in is done', async () => (await link.call(signInPoll, { flow_id })).status === 'approved', 15_000);

async function signIn(link: Link, provider: string): Promise<void> {
  const started = await link.call(signInStart, { provider });
  if (started.flow === 'pkce') await walkForms(started.auth_url);
  else await walkForms(started.verification_url, { fields: { user_code: started.user_code } });
  await approved(link, started.flow_id);
}

interface Stored {
  providers: Record<string, { access_token: string; refresh_token?: string; expires_at: string; void?: string }>;
}

await t.test('PKCE: the browser comes back by itself, and the provider answers a turn with that sign-in', async (t) => {
  await using server = await startIdentityProvider();
  using home = testHome({ 'config.yaml': configOf(server) });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  const { link } = client;
  const before = await client.turn(await client.create(), 'hello');
  t.match(before.complete, { status: 'error', error: { code: 'NO_PROVIDER', message: /agent auth login web/ } });
  await signIn(link, 'web');
  t.equal(statSync(home.auth).mode & 0o777, 0o600);
  openai.requests.length = 0;
  const { complete } = await client.turn(await client.create(), 'hello');
  t.equal(complete.text, 'ok');
  const [, bearer] = String(openai.requests[0]?.headers.authorization).split(' ');
  t.equal(await server.subjectOf(bearer!), 'ada');
  const { providers } = await link.call(signInProviders, {});
  t.match(providers, [
    { id: 'llm', flow: 'device_code', status: { logged_in: false } },
    { id: 'web', status: { logged_in: true, source: 'auth.json', error: null } },
  ]);
  t.equal(providers.length, 2, 'a provider without a sign-in is not offered one');
  t.notMatch(JSON.stringify(providers), bearer!);
  await link.call(signOut, { provider: 'web' });
  t.notMatch(readFileSync(home.auth, 'utf8'), bearer!);
  t.match((await client.turn(await client.create(), 'hello')).complete, { error: { code: 'NO_PROVIDER' } });
});

await t.test('device code: a code typed elsewhere signs in; the agent asks until then', { timeout: 200_000 }, async (t) => {
  await using server = await startIdentityProvider();
  using home = testHome({ 'config.yaml': configOf(server) });
  await using worker = await startWorker(home, 'agent');
  using link = await worker.dial();
  const started = await link.call(signInStart, { provider: 'llm' });
  t.match(started, { flow: 'device_code', user_code: /^\w{4}-\w{4}$/, verification_url: `${server.issuer}/device` });
  t.match(await link.call(signInPoll, { flow_id: started.flow_id }), { status: 'pending', error_message: null });
  if (started.flow === 'device_code') await walkForms(started.verification_url, { fields: { user_code: started.user_code } });
  await approved(link, started.flow_id);
  t.match(server.grants, ['device_code']);
});

await t.test('the address where a browser of another machine ended is pasted; that of another sign-in is not taken', async (t) => {
  await using server = await startIdentityProvider();
  using home = testHome({ 'config.yaml': configOf(server) });
  await using worker = await startWorker(home, 'agent');
  using link = await worker.dial();
  const started = await link.call(signInStart, { provider: 'web' });
  if (started.flow !== 'pkce') throw new Error('another flow');
  const { flow_id } = started;
  const { url } = await walkForms(started.auth_url, { stopAt: /\/callback\?/ });
  const forged = new URL(url);
  forged.searchParams.set('state', 'of-another');
  t.match(await link.call(signInSubmit, { flow_id, code: forged.href }), { ok: false, status: 'pending', message: /another sign-in/ });
  t.equal((await fetch(forged)).status, 404, 'the browser is not believed either');
  t.match(await link.call(signInSubmit, { flow_id, code: url }), { ok: true, status: 'approved' });
  t.match(await link.call(signInSubmit, { flow_id, code: url }), { status: 'approved' }, 'once more changes nothing');
  await t.rejects(fetch(url), 'the port is closed');
});

await t.test('what the person refuses, gives up or begins twice ends the sign-in, and nothing is stored', async (t) => {
  await using server = await startIdentityProvider();
  using home = testHome({ 'config.yaml': configOf(server) });
  await using worker = await startWorker(home, 'agent');
  using link = await worker.dial();
  const first = await link.call(signInStart, { provider: 'web' });
  const second = await link.call(signInStart, { provider: 'web' });
  await t.rejects(link.call(signInPoll, { flow_id: first.flow_id }), { code: 'NOT_FOUND' }, 'one at a time');
  if (second.flow !== 'pkce') throw new Error('another flow');
  const back = new URL(new URL(second.auth_url).searchParams.get('redirect_uri')!);
  back.searchParams.set('state', new URL(second.auth_url).searchParams.get('state')!);
  back.searchParams.set('error', 'access_denied');
  await fetch(back);
  t.match(await link.call(signInPoll, { flow_id: second.flow_id }), { status: 'denied', error_message: 'access_denied' });
  const third = await link.call(signInStart, { provider: 'llm' });
  await link.call(signInCancel, { flow_id: third.flow_id });
  await t.rejects(link.call(signInPoll, { flow_id: third.flow_id }), { code: 'NOT_FOUND' });
  await t.rejects(link.call(signInStart, { provider: 'keyed' }), { code: 'NOT_FOUND', fix: /providers\.keyed\.oauth/ });
  t.notOk(existsSync(home.auth));
});

await t.test(
  'a token about to end is renewed before the call, once for all turns; a refresh token left out of the answer is kept',
  async (t) => {
    // Shorter than the margin: every call renews.
    await using server = await startIdentityProvider({ accessSeconds: 30 });
    using home = testHome({ 'config.yaml': configOf(server) });
    await using worker = await startWorker(home, 'agent');
    using client = await connect(worker);
    await signIn(client.link, 'web');
    const stored = () => (JSON.parse(readFileSync(home.auth, 'utf8')) as Stored).providers.web!;
    const first = stored();
    server.rewriteTokens = ({ refresh_token: _left, ...answer }) => answer;
    server.grants.length = 0;
    const turns = await Promise.all([1, 2, 3].map(async () => client.turn(await client.create(), 'hello')));
    t.same(new Set(turns.map(({ complete }) => complete.text)), new Set(['ok']));
    t.ok(server.grants.length >= 1 && server.grants.length < 3, `${server.grants.length} renewals`);
    t.not(stored().access_token, first.access_token);
    t.equal(stored().refresh_token, first.refresh_token);
  },
);

await t.test('trouble of the provider erases nothing; only its own word that the sign-in is over does', async (t) => {
  await using server = await startIdentityProvider({ accessSeconds: 30 });
  using home = testHome({ 'config.yaml': configOf(server) });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  await signIn(client.link, 'web');
  const before = readFileSync(home.auth, 'utf8');
  server.intercept = ({ url }, response) => url === '/token' && Boolean(response.writeHead(503).end());
  t.equal((await client.turn(await client.create(), 'hello')).complete.text, 'ok', 'the token has not ended yet');
  t.equal(readFileSync(home.auth, 'utf8'), before);
  server.intercept = undefined;
  await server.revokeAll();
  const { complete } = await client.turn(await client.create(), 'hello');
  t.match(complete.error, { message: /needs a sign-in.*agent auth login web/ });
  t.match((JSON.parse(readFileSync(home.auth, 'utf8')) as Stored).providers.web, { access_token: '', void: /ended/ });
  t.match((await client.link.call(signInProviders, {})).providers[1], { id: 'web', status: { logged_in: false, error: /sign in again/ } });
});

await t.test('a 401 of the model host renews the token once and asks again', async (t) => {
  await using server = await startIdentityProvider();
  using home = testHome({ 'config.yaml': configOf(server) });
  await using worker = await startWorker(home, 'agent');
  using client = await connect(worker);
  await signIn(client.link, 'web');
  openai.requests.length = 0;
  openai.answer({ status: 401 }, { text: 'after all' });
  const { complete } = await client.turn(await client.create(), 'hello');
  t.equal(complete.text, 'after all');
  const bearers = openai.requests.map(({ headers }) => headers.authorization);
  t.equal(new Set(bearers).size, 2);
  t.same(server.grants, ['authorization_code', 'refresh_token']);
});

await t.test('a damaged auth.json is kept aside, what others keep in it stays, and tokens of another client are not used', async (t) => {
  await using server = await startIdentityProvider();
  using home = testHome({ 'config.yaml': `${configOf(server)}  second: { base_url: "${openai.url}", oauth: ${server.oauth('pkce')} }\n` });
  writeFileSync(home.auth, '{"providers": {', { mode: 0o600 });
  await using worker = await startWorker(home, 'agent');
  using link = await worker.dial();
  await signIn(link, 'web');
  t.equal(readFileSync(`${home.auth}.damaged`, 'utf8'), '{"providers": {');
  writeFileSync(home.auth, JSON.stringify({ other: 1, ...(JSON.parse(readFileSync(home.auth, 'utf8')) as object) }));
  await signIn(link, 'second');
  t.match(JSON.parse(readFileSync(home.auth, 'utf8')), { other: 1, providers: { web: {}, second: {} } });
  home.write('config.yaml', configOf(server).replaceAll('agent-service-test', 'another-client'));
  await until('the new client counts', async () =>
    (await link.call(signInProviders, {})).providers.every(({ status }) => !status.logged_in),
  );
});

await t.test('agent auth login, status and logout do the same from a terminal', { timeout: 200_000 }, async (t) => {
  await using server = await startIdentityProvider();
  await using service = cliService({ 'config.yaml': configOf(server) });
  const agent = (...args: string[]) => service.agent('auth', ...args);
  t.match(await agent('status', 'llm'), { code: 1, stdout: /not signed in +agent auth login llm/ });
  const waiting = agent('login', 'llm', '--json');
  const code = await until('the provider has given a code', () => server.codes.at(-1));
  await walkForms(`${server.issuer}/device`, { fields: { user_code: code } });
  const { code: exit, stdout, stderr } = await waiting;
  t.match({ exit, stdout, stderr }, { exit: 0, stdout: /"approved"/, stderr: new RegExp(`${code.slice(0, 4)}-${code.slice(4)}`) });
  t.match(await agent('status', 'llm'), { code: 0, stdout: /signed in/ });
  t.match(await agent('logout', 'llm'), { code: 0, stdout: /Signed out of llm/ });
  t.equal((await agent('status', 'llm')).code, 1);
  t.match(await agent('login', 'keyed'), { code: 1, stderr: /offers no sign-in/ });
});
