/** `agent tools …` with a real worker and a real config.yaml. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import type { ResultOf } from '../../ipc/method.ts';
import type { toolsList } from '../../ipc/contracts/rpcTools.ts';
import { cli, errorOf } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

const home = testHome({ 'config.yaml': 'agent: # mine\n  max_turns: 5\n' });
const worker = await startWorker(home, 'agent', { demo: true });
t.teardown(async () => {
  await worker[Symbol.asyncDispose]();
  home[Symbol.dispose]();
});

t.test('list shows what a place has, and why it has not the rest', async (t) => {
  const { code, stdout } = await cli(['tools', 'list'], { home });
  t.equal(code, 0);
  t.match(stdout, /^Toolsets on cli:\non {3}terminal +run shell commands[^]*terminal, process\n/);
  t.match(stdout, /web_search is not offered: no search service is configured/);
  const irc = await cli(['tools', 'list', '--platform', 'irc', '--json'], { home });
  const { platform, toolsets } = JSON.parse(irc.stdout) as ResultOf<typeof toolsList>;
  t.equal(platform, 'irc');
  t.match(
    toolsets.find(({ name }) => name === 'file'),
    { enabled: false, refused: /platform_toolsets\.irc/ },
  );
});

t.test('disable and enable write agent.disabled_toolsets, and the running worker sees it', async (t) => {
  t.match(await cli(['tools', 'disable', 'web'], { home }), { code: 0, stdout: /^agent\.disabled_toolsets: \["web"\]/ });
  t.equal((await cli(['tools', 'disable', 'web'], { home })).stdout.includes('(as before)'), true);
  t.equal((await cli(['tools', 'disable', 'mcp-github'], { home })).code, 0);
  t.match(readFileSync(home.config, 'utf8'), /# mine\n {2}max_turns: 5\n {2}disabled_toolsets:\n {4}- web\n {4}- mcp-github\n/);
  const { stdout } = await cli(['tools', 'list'], { home });
  t.match(stdout, /off {2}web[^]*agent\.disabled_toolsets in config\.yaml names web/);
  t.match(JSON.parse((await cli(['tools', 'enable', 'web', '--json'], { home })).stdout), {
    before: ['web', 'mcp-github'],
    after: ['mcp-github'],
  });
  const unknown = await cli(['tools', 'disable', 'webb', '--json'], { home });
  t.notOk(unknown.code === 0);
  t.match(errorOf(unknown), { code: 'NOT_FOUND', fix: /did you mean web\?/ });
});
