import t, { type Test } from 'tap';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeHost } from '../../agent/sandbox/hosts.ts';
import { sandboxPolicy, type SandboxSettings } from '../../agent/sandbox/policy.ts';
import { seatbeltProfile } from '../../agent/sandbox/seatbelt.ts';
import { askedWithoutSandbox } from '../../agent/sandbox/withoutSandbox.ts';
import { decide } from '../../agent/approvals/policy.ts';
import type { Tool } from '../../agent/tools/registry.ts';
import { lastingFolder } from '../harness/lastingFolder.ts';

function stage(t: Test) {
  const root = lastingFolder('policy');
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const at = (path: string) => join(root, path);
  for (const dir of [
    'home/.ssh',
    'home/.nvm',
    'home/.agent/skills',
    'home/.agent/cache/t',
    'home/docs',
    'home/p/.git/hooks',
    'home/q',
    'srv',
  ])
    mkdirSync(at(dir), { recursive: true });
  writeFileSync(at('home/p/.git/config'), '');
  symlinkSync(at('srv'), at('home/p/out'));
  const policyIn = (cwd: string, settings: Partial<SandboxSettings> = {}) =>
    sandboxPolicy(
      { level: 'workspace', writable: [], readable: [], ...settings },
      {
        cwd,
        userHome: at('home'),
        serviceFolders: [at('home/.agent')],
        shownFolders: [at('home/.agent/skills')],
        temp: at('home/.agent/cache/t'),
      },
    );
  return { at, policyIn };
}

t.test('a workspace: what may be read and written', async (t) => {
  const { at, policyIn } = stage(t);
  const policy = policyIn(at('home/p'), { writable: ['~/q'], readable: ['~/docs'] });
  const rights = (path: string) => (policy.mayWrite(path) ? 'write' : policy.mayRead(path) ? 'read' : 'none');
  const want: Record<string, string> = {
    [at('home/p')]: 'write',
    [at('home/p/a/b')]: 'write',
    [at('home/p/.git/index')]: 'write',
    [at('home/p/.git/hooks/pre-commit')]: 'read',
    [at('home/p/.git/config')]: 'read',
    [at('home/q/x')]: 'write',
    [at('home/docs/x')]: 'read',
    [at('home/.nvm/x')]: 'read',
    [at('home/.ssh/id_rsa')]: 'none',
    [at('home/.bashrc')]: 'none',
    [at('home/other')]: 'none',
    [at('home/.agent/.env')]: 'none',
    [at('home/.agent/skills/x')]: 'read',
    [at('home/.agent/cache/t/note')]: 'write',
    [at('srv/x')]: 'read',
    '/usr/bin/env': 'read',
    '/tmp/x': 'none',
    '/proc/self/environ': 'none',
    '/dev/sda': 'none',
    '/run/docker.sock': 'none',
  };
  t.same(Object.fromEntries(Object.keys(want).map((path) => [path, rights(path)])), want);
  t.equal(policy.hostPath('/tmp/note'), at('home/.agent/cache/t/note'));
  t.equal(policy.shownPath(at('home/.agent/cache/t/note')), '/tmp/note');
});

t.test('read-only: the same, and nothing but temporary files may be written', async (t) => {
  const { at, policyIn } = stage(t);
  const policy = policyIn(at('home/p'), { level: 'read-only', writable: ['~/q'] });
  t.same(
    [at('home/p/f'), at('home/q/f'), at('home/.agent/cache/t/f')].map((path) => [policy.mayRead(path), policy.mayWrite(path)]),
    [
      [true, false],
      [false, false],
      [true, true],
    ],
  );
});

t.test('a working directory that contains the home, the service or the system is not writable, and the notice says so', async (t) => {
  const { at, policyIn } = stage(t);
  for (const cwd of ['/', '/etc', '/usr/local', at('home'), at('.'), at('home/.agent'), at('home/.agent/cache')]) {
    const policy = policyIn(cwd);
    t.equal(policy.mayWrite(join(cwd, 'f')), false, cwd);
    t.equal(policy.mayRead(at('home/.agent/.env')), false, `${cwd}: secrets stay hidden`);
    t.ok(policy.notice, cwd);
  }
  t.equal(policyIn(at('home/p')).notice, undefined);
  const named = policyIn(at('home/p'), { writable: ['~/'] });
  t.equal(named.mayRead(at('home/.agent/.env')), false, 'the service stays hidden in a folder that the user opens');
});

t.test('hosts: names, suffixes, addresses and ports', async (t) => {
  const verdict = (rule: string, host: string, port = 443) => {
    const found = judgeHost([rule], { host, port });
    return found.allowed ? (found.literal ? 'literal' : 'allowed') : 'refused';
  };
  const cases: [string, string, number, string][] = [
    ['example.org', 'example.org', 443, 'allowed'],
    ['example.org', 'EXAMPLE.org.', 80, 'allowed'],
    ['example.org', 'example.org', 22, 'refused'],
    ['example.org:22', 'example.org', 22, 'allowed'],
    ['example.org:22', 'example.org', 443, 'refused'],
    ['example.org', 'evil-example.org', 443, 'refused'],
    ['example.org', 'a.example.org', 443, 'refused'],
    ['*.example.org', 'a.b.example.org', 443, 'allowed'],
    ['*.example.org', 'example.org', 443, 'refused'],
    ['*.example.org', 'evilexample.org', 443, 'refused'],
    ['*.1', '127.0.0.1', 443, 'refused'],
    ['127.0.0.1:3000', '127.0.0.1', 3_000, 'literal'],
    ['localhost:3000', 'localhost', 3_000, 'literal'],
    ['localhost:3000', '127.0.0.1', 3_000, 'refused'],
    ['[::1]:3000', '::1', 3_000, 'literal'],
    ['::1', '::1', 443, 'literal'],
    ['*', 'example.org', 443, 'refused'],
    ['', 'example.org', 443, 'refused'],
  ];
  t.same(
    cases.map(([rule, host, port]) => [rule, host, port, verdict(rule, host, port)]),
    cases,
  );
});

t.test('the Seatbelt profile has balanced brackets, quotes its paths, and denies what it does not name', async (t) => {
  const profile = seatbeltProfile({
    mounts: [
      { kind: 'read', path: '/' },
      { kind: 'empty', path: '/Users' },
      { kind: 'write', path: '/Users/a/we "ird\\' },
    ],
  });
  const bare = profile.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  t.equal(bare.split('(').length, bare.split(')').length);
  t.notMatch(bare, /"[^"\s)]/);
  t.match(profile.split('\n').slice(0, 2), ['(version 1)', '(deny default)']);
  t.ok(profile.includes('(allow file-read* file-write* (subpath "/Users/a/we \\"ird\\\\"))'));
  t.ok(profile.indexOf('"/Users"') < profile.indexOf('"/Users/a/'), 'the later rule decides');
});

t.test('without a sandbox where one is demanded, all but reading commands are asked about, in every mode', async (t) => {
  const missing = { problem: 'bubblewrap is not installed', fix: 'install it' };
  const tool = (name: string) => askedWithoutSandbox({ name } as Tool, missing);
  const terminal = (command: string) => tool('terminal').danger!({ command });
  for (const command of ['ls', 'ls -la src', 'pwd', 'wc -l a.txt']) t.equal(terminal(command), undefined, command);
  for (const command of ['make', 'cat f', 'ls; make', 'ls $(make)', 'ls > f', 'ls\nmake', 'python3 x.py', 'lsof'])
    t.match(terminal(command), { unconfined: true }, command);
  t.match(tool('execute_code').danger!({ code: 'print(1)' }), { unconfined: true, command: 'print(1)' });
  t.match(tool('process').danger!({ action: 'write', text: 'rm' }), { unconfined: true });
  t.equal(tool('process').danger!({ action: 'list' }), undefined);
  t.equal(tool('read_file').danger, undefined);
  const danger = terminal('make')!;
  t.equal(decide(danger, { mode: 'off' }, () => false).kind, 'ask');
  const unattended = { decision: 'approve', setting: 'approvals.cron_mode', why: 'nobody is there' } as const;
  t.equal(decide(danger, { mode: 'manual', unattended }, () => false).kind, 'refuse');
  t.equal(decide({ ...danger, unconfined: false }, { mode: 'off' }, () => false).kind, 'allow');
});
