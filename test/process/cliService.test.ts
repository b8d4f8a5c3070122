/** The commands on the running service: up, status, start, stop, restart, the workers' own, down. */
import t from 'tap';
import type { Receipt } from '../../ipc/contracts/supervisor.ts';
import { groupAlive, isSameProcess } from '../../state/processIdentity.ts';
import { errorOf, finished, spawnCli } from '../harness/cli.ts';
import { cliService, pidOf } from '../harness/cliService.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

t.test('up, a second up, slot commands, down', { timeout: 200_000 }, async (t) => {
  await using service = cliService();
  const { agent, status } = service;

  await t.test('up prints the address that logs in, once, when everything wanted is ready', async (t) => {
    const { code, stdout, stderr } = await agent('up', '--demo', '--port', '0');
    t.same({ code, stderr }, { code: 0, stderr: '' });
    t.match(stdout, /^Dashboard: http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]{43}\n$/);
    const address = stdout.trim().slice('Dashboard: '.length);
    t.equal((await fetch(address)).status, 200, 'it opens');
    const found = await status();
    t.same(
      found.workers.filter(({ desired, state }) => desired === 'up' && state !== 'ready'),
      [],
    );
    t.equal((await agent('status')).code, 0);
  });

  await t.test('a second up says that it already runs, and exits 0', async (t) => {
    const { code, stdout } = await agent('up');
    t.equal(code, 0);
    t.match(stdout, /^The service already runs \(supervisor \d+, up .*\)\.\nDashboard: http:/);
    t.match(JSON.parse((await agent('up', '--json')).stdout), { already_running: true, dashboard: /^http:/ });
    const foreground = await agent('up', '--foreground', '--port', '1');
    t.match(foreground, { code: 0, stdout: /already runs/, stderr: /it keeps the address it was started with/ });
  });

  await t.test('restart waits for the result and says what became of it', async (t) => {
    const before = pidOf(await status(), 'cron')!;
    const { code, stdout } = await agent('restart', 'cron');
    t.equal(code, 0);
    const after = pidOf(await status(), 'cron');
    t.match(stdout, new RegExp(`^cron restarted \\(process ${before} → ${after}\\): drained in .*, ready in .*, away for .*\\.\\n$`));
  });

  await t.test('stop and start print receipts, as JSON too', async (t) => {
    const pid = pidOf(await status(), 'cron')!;
    const stopped = await agent('stop', 'cron', '--json');
    t.match(JSON.parse(stopped.stdout) as Receipt, { slot: 'cron', action: 'stop', actor: 'cli', old_pid: pid, new_pid: null, ok: true });
    t.notOk(groupAlive(pid));
    const refused = await agent('cron', 'list', '--json');
    t.equal(refused.code, 1);
    t.match(errorOf(refused), { message: /cron/, fix: /agent start cron/ });
    t.match((await agent('stop', 'cron')).stdout, /^cron was not running\.\n$/);
    t.match((await agent('start', 'cron')).stdout, /^cron is ready \(process \d+\): ready in /);
    t.match((await agent('start', 'cron')).stdout, /^cron already runs \(process \d+\)/);
    const two = await agent('restart', 'cron', 'mcp', '--json');
    t.match(
      { code: two.code, ...(JSON.parse(two.stdout) as object) },
      {
        code: 0,
        receipts: [
          { slot: 'cron', ok: true },
          { slot: 'mcp', ok: true },
        ],
      },
    );
    t.match(await agent('restart', 'cron', 'nosuch'), { code: 2, stdout: '' });
    const all = await agent('restart', '--json');
    t.ok(
      (JSON.parse(all.stdout) as { receipts: Receipt[] }).receipts.every(({ ok, old_pid, new_pid }) => ok && old_pid !== new_pid),
      all.stdout,
    );
  });

  await t.test('an unknown slot exits 2 with the nearest and the valid set', async (t) => {
    const result = await agent('restart', 'crn', '--json');
    t.equal(result.code, 2);
    t.match(errorOf(result), {
      code: 'UNKNOWN_SLOT',
      message: 'unknown slot "crn"',
      fix: /^did you mean cron\? known: agent, dashboard, cron/,
    });
  });

  await t.test('a killed worker is back, and status and why name the signal', async (t) => {
    const before = pidOf(await status(), 'cron')!;
    process.kill(before, 'SIGKILL');
    const row = await until('cron is back', async () =>
      (await status()).workers.find(({ slot, pid, state }) => slot === 'cron' && state === 'ready' && pid !== before),
    );
    t.match(row, { restarts: 1, last_exit: { signal: 'SIGKILL' } });
    t.match(await agent('why', 'cron'), { code: 0, stdout: /SIGKILL/ });
    t.match(await agent('status'), { code: 0, stdout: /cron +ready .* 1 .*SIGKILL/ });
  });

  await t.test('cron, sessions, mcp and one prompt through the running workers', async (t) => {
    const job = JSON.parse((await agent('cron', 'create', 'every 1h', 'say: 3 words', '--name', 'words', '--json')).stdout) as {
      id: string;
    };
    t.match(await agent('cron', 'list'), { code: 0, stdout: new RegExp(`${job.id}  words`) });
    t.match(await agent('cron', 'pause', 'words'), { code: 0, stdout: /is paused/ });
    t.match(await agent('cron', 'remove', job.id.slice(0, 6)), { code: 0, stdout: /is removed/ });
    t.match(await agent('cron', 'run', 'nothing'), { code: 1, stderr: /nothing/ });
    t.match(await agent('cron', 'create', 'whenever', 'x'), { code: 2, stderr: /whenever/ });

    const answer = JSON.parse((await agent('chat', '-q', 'run: echo from the shell', '--json')).stdout) as { session_id: string };
    t.match(answer, { status: 'complete', text: /from the shell/, tools: [{ name: 'terminal', is_error: false }], error: null });
    t.match(await agent('chat', '-q', 'second', '--session', answer.session_id), { code: 0, stdout: /second/ });
    t.match(await agent('sessions', 'list'), { code: 0, stdout: new RegExp(answer.session_id) });
    t.match(await agent('sessions', 'show', answer.session_id), {
      code: 0,
      stdout: /run: echo from the shell[\s\S]*→ terminal[\s\S]*second/,
    });
    t.match(await agent('chat', '-q', 'x', '--session', 'nobody'), { code: 1, stderr: /nobody/ });
    t.match(await agent('chat', '-q', 'fail: PROVIDER_FAILED'), { code: 1, stderr: /^agent: / });
    t.match(await agent('mcp', 'list'), { code: 0, stderr: /no servers yet/ });
  });

  await t.test('a prompt from a pipe is one prompt', async (t) => {
    const { code, stdout } = await finished(spawnCli(['chat'], { home: service.home, stdin: '' }), 'say: 4 words\n');
    t.equal(code, 0);
    t.equal(stdout.trim().split(/\s+/).length, 4);
  });

  await t.test('down stops everything and waits for it', async (t) => {
    const { supervisor, workers } = await status();
    const { code, stdout } = await agent('down');
    t.equal(code, 0);
    t.match(stdout, /agent stopped \(process \d+\)[\s\S]*The service is down\.\n$/);
    t.notOk(isSameProcess(supervisor), 'the supervisor itself is gone');
    t.same(
      workers.filter(({ pid }) => pid !== null && groupAlive(pid)),
      [],
    );
    t.equal((await agent('status')).code, 3);
    t.match(await agent('down'), { code: 0, stdout: /Nothing runs/ });
  });
});
