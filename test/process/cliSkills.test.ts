import { readFileSync } from 'node:fs';
import t from 'tap';
import { cliService } from '../harness/cliService.ts';
import { errorOf } from '../harness/cli.ts';

t.test('agent skills: list, view, disable, enable and check, with the service started when none runs', async (t) => {
  await using service = cliService({
    'skills/ops/deploy/SKILL.md': '---\nname: deploy\ndescription: Puts it out.\nplatforms: [linux, macos]\n---\nCall the bridge.\n',
    'skills/ops/deploy/hosts.md': 'a, b\n',
  });
  const { agent, home } = service;
  t.match(await agent('skills', 'check'), { code: 0, stdout: '1 skill, nothing wrong.\n' });
  t.match(await agent('skills', 'view', 'deploy'), {
    stdout: /^---\nname: deploy[\s\S]*Call the bridge\.\n$/,
    stderr: /it also has hosts\.md/,
  });
  t.equal((await agent('skills', 'view', 'deploy', 'hosts.md')).stdout, 'a, b\n');
  t.match(errorOf(await agent('skills', 'view', 'nope', '--json')), { code: 'NOT_FOUND', fix: /agent skills list/ });

  const version = async () =>
    (JSON.parse((await agent('skills', 'view', 'deploy', 'hosts.md', '--json')).stdout) as { version: string }).version;
  const read = await version();
  const mine = home.write('mine.md', 'a, b, c\n');
  const save = (...more: string[]) => agent('skills', 'save', 'deploy', 'hosts.md', '--from', mine, ...more, '--json');
  t.match(JSON.parse((await save('--over', read)).stdout), { name: 'deploy', version: /^\w{20}$/ });
  t.match(
    errorOf(await save('--over', read)),
    { code: 'CONFIG_CHANGED', message: /hosts\.md was changed/, fix: /read it again/ },
    'not over what another wrote',
  );
  t.match(await save('--over', await version()), { code: 0 });
  t.match(await save(), { code: 0 }, 'without a version over whatever is there');

  t.match(await agent('skills', 'disable', 'deploy'), { code: 0, stdout: /no longer offered/ });
  t.match(readFileSync(home.config, 'utf8'), /disabled:\n\s+- deploy/);
  t.match((await agent('skills', 'list')).stdout, /deploy +ops +disabled +skills\.disabled names it/);
  const path = home.write('skills/bad/SKILL.md', '---\nname: bad\ndescription: d\nplatforms: 7\n---\n');
  t.match(await agent('skills', 'check'), { code: 1, stdout: new RegExp(`^${path}:4: platforms: `) });
  t.match(JSON.parse((await agent('skills', 'check', '--json')).stdout), { ok: false, problems: [{ path, message: /^line 4: / }] });
  t.match(await agent('skills', 'enable', 'deploy'), { code: 0 });
  t.match(await agent('skills', 'list'), {
    stdout: /NAME +CATEGORY +STATE\nbad +general +broken +line 4: platforms.*\ndeploy +ops +offered +Puts it out\./,
    stderr: /1 problem/,
  });
});
