/**
 * Dangerous command lines inside the sandbox, with no approval in the way, as root and as another user: they may ruin the
 * working directory and nothing else. Judged by their effects.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { dangerousLines } from '../fixtures/dangerousLines.ts';
import { sandboxStage, stageUsers, type LineResult } from '../harness/sandboxStage.ts';

// Two users, more than a hundred lines.
t.setTimeout(400_000);

/** Processes that lines leave behind sleep for this long, and no other process does. */
const SLEEP = /sleep.?31337/;

function survivors(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
    .flatMap((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return SLEEP.test(line) && !line.includes('runsSandboxed') ? [`${pid} ${line}`] : [];
      } catch {
        return [];
      }
    });
}

const leaks =
  (canary: string) =>
  ({ line, text }: LineResult) =>
    text.includes(canary) || /^root:[^x*!]/m.test(text) ? [{ line, text }] : [];

for (const user of stageUsers) {
  t.test(`dangerous lines change, read and reach nothing outside of the working directory (user: ${user})`, async (t) => {
    await using stage = await sandboxStage(user);
    const before = stage.outside();
    const results = await stage.run(dangerousLines, { level: 'workspace' });
    t.equal(results.length, dangerousLines.length, 'every line was run');
    t.same(stage.outside(), before, 'nothing outside of the project changed');
    t.same(results.flatMap(leaks(stage.canary)), [], 'no secret was printed');
    t.equal(stage.contacts(), 0, 'nothing reached a server of this machine');
    t.same(survivors(), [], 'no process survived');
    const broken = results.filter(({ line, text }) => text.startsWith('bwrap: ') && !line.startsWith('bwrap '));
    t.same(broken, [], 'the sandbox itself never failed');
    t.same(
      results.filter(({ data }) => data.timed_out).map(({ line }) => line),
      [],
      'every line ended in time',
    );
  });

  t.test(`the project can be worked on, its hooks and settings of git cannot be changed (user: ${user})`, async (t) => {
    await using stage = await sandboxStage(user);
    const commit = 'git -c user.name=a -c user.email=a@example.org commit -qam second && git log --oneline | wc -l';
    const [work, protect, tools, temp, again] = await stage.run(
      [
        `echo changed > f && mkdir new && rm -r victim && ${commit}`,
        'echo EVIL >> .git/config; echo EVIL > .git/hooks/pre-commit; mv .git x; cat .git/config .git/hooks/pre-commit',
        '~/.local/bin/tool; python3 -c "print(6*7)"; echo "$HOME"; ls -A ~',
        'echo kept > /tmp/note; echo "$TMPDIR"',
        'cat /tmp/note; ls /run /home /root 2>/dev/null',
      ],
      { level: 'workspace' },
    );
    t.match(work, { text: '2' });
    t.equal(readFileSync(join(stage.project, 'f'), 'utf8'), 'inside\n', 'the next line found a fresh project');
    t.notMatch(protect!.data.output, /EVIL$/m);
    t.equal(tools!.data.output, `tool\n42\n${stage.home}\n.bashrc\n.local\nproject\n`);
    t.equal(temp!.data.output, '/tmp\n');
    t.match(again!.data.output, /^kept\n/, 'temporary files last for the session');
  });

  t.test(`read-only: the working directory cannot be changed, temporary files can (user: ${user})`, async (t) => {
    await using stage = await sandboxStage(user);
    const [line] = await stage.run(['(echo x > f; rm -rf victim) 2>/dev/null; touch /tmp/a && cat f && ls'], { level: 'read-only' });
    t.match(line!.data, { exit_code: 0, output: 'inside\nf\nvictim\n' });
  });

  t.test(`the end of a command is the end of all it started, also when it runs out of time (user: ${user})`, async (t) => {
    await using stage = await sandboxStage(user);
    const [line] = await stage.run(['trap "" TERM HUP; env -i setsid -f sleep 31337; sleep 31337'], { level: 'workspace' }, 2);
    t.match(line, { data: { timed_out: true } });
    t.same(survivors(), []);
  });
}
