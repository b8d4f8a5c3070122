import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { testHome, type TestHome } from '../harness/home.ts';
import { projectRoot, startWorker } from '../harness/worker.ts';

interface Said {
  code: number;
  out: string;
  err: string;
}

/** A command as a user types it, on this home. */
function agent(home: TestHome, ...args: string[]): Promise<Said> {
  const env = { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(projectRoot, 'bin', 'main.ts'), ...args], { env }, (error, out, err) =>
      resolve({ code: error ? Number(error.code) : 0, out, err }),
    );
  });
}

t.test('env.2 AGENT_HOME holds configuration, state and logs; two homes know nothing of each other', async (t) => {
  using one = testHome();
  using two = testHome();
  t.match(await agent(one, 'config', 'set', 'model.default', 'first'), { code: 0 });
  t.match(await agent(two, 'config', 'get', 'model.default', '--json'), { out: /null|^$/ });
  t.match(await agent(one, 'config', 'path'), { out: `${one.config}\n` });
  await using _worker = await startWorker(one, 'mcp');
  t.ok([one.config, one.logs, one.mcpDb, one.run.token, one.run.socket('mcp')].every(existsSync), 'all of it below AGENT_HOME');
  t.equal(statSync(one.run.token).mode & 0o777, 0o600);
  t.notOk(existsSync(two.mcpDb));
});

t.test('cli.13 config set takes a dotted path; a backslash makes a dot part of a key', async (t) => {
  using home = testHome();
  t.match(await agent(home, 'config', 'set', 'platforms.irc.port', '6697'), { code: 0 });
  t.match(await agent(home, 'config', 'set', 'model_aliases.gpt-4\\.1', 'big'), { code: 0 });
  t.match(await agent(home, 'config', 'get', 'model_aliases.gpt-4\\.1'), { code: 0, out: 'big\n' });
  t.equal(readFileSync(home.config, 'utf8'), 'platforms:\n  irc:\n    port: 6697\nmodel_aliases:\n  gpt-4.1: big\n');
  t.match(await agent(home, 'config', 'set', 'platforms.irc.port', 'high'), { code: 78, err: /platforms\.irc\.port takes a number/ });
});

t.test('err.20 a config set that would shadow a dotted sibling is refused with the escaped spelling', async (t) => {
  const text = 'model_aliases:\n  gpt-4.1: big # with a dot\n';
  using home = testHome({ 'config.yaml': text });
  const said = await agent(home, 'config', 'set', 'model_aliases.gpt-4.1', 'small');
  t.not(said.code, 0);
  t.match(said.err, /write it as model_aliases\.gpt-4\\\.1/);
  t.equal(readFileSync(home.config, 'utf8'), text);
});
