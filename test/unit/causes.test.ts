/** Why a process ended: the sentence, the fix, and signatures that group equal causes. */
import t from 'tap';
import { loggedKill } from '../../supervisor/kernelKills.ts';
import { explain, normalise, ownFrame, type Ending } from '../../supervisor/causes.ts';

const MiB = 1024 * 1024;
const ended = (more: Partial<Ending>): Ending => ({ code: null, signal: null, tail: [], ...more });
const roomy = { freeBytes: 8_000 * MiB, totalBytes: 16_000 * MiB };

t.test('lesson 1: known causes are told in a sentence, with the fix, and those that a restart cannot help are permanent', async (t) => {
  const rows: { name: string; ending: Partial<Ending>; cause: RegExp; fix: RegExp | null; permanent?: boolean; shortage?: object }[] = [
    {
      name: 'own error',
      ending: { code: 78, tail: ['CONFIG_INVALID: bad key — write it so'] },
      cause: /^stopped: bad key$/,
      fix: /write it so/,
      permanent: true,
    },
    {
      name: 'module',
      ending: { code: 1, tail: ["Error: Cannot find module './x.js'"] },
      cause: /module is missing/,
      fix: /reinstall/,
      shortage: { kind: 'program' },
    },
    {
      name: 'native module',
      ending: { code: 1, tail: ['… NODE_MODULE_VERSION 127. This version'] },
      cause: /native module/,
      fix: /reinstall/,
      permanent: true,
    },
    {
      name: 'syntax',
      ending: { code: 1, tail: ['SyntaxError: Unexpected token'] },
      cause: /does not parse/,
      fix: /reinstall/,
      shortage: { kind: 'program' },
    },
    {
      name: 'port',
      ending: { code: 1, tail: ['Error: listen EADDRINUSE: address already in use 127.0.0.1:9119'] },
      cause: /127\.0\.0\.1:9119 is taken/,
      fix: /another port/,
      shortage: { kind: 'port', at: '127.0.0.1:9119' },
    },
    {
      name: 'disk',
      ending: { code: 1, tail: ['Error: ENOSPC: no space left on device, write'] },
      cause: /disk is full/,
      fix: /df -h/,
      shortage: { kind: 'space' },
    },
    {
      name: 'descriptors',
      ending: { code: 1, tail: ['Error: EMFILE: too many open files'] },
      cause: /too many files/,
      fix: /LimitNOFILE/,
      shortage: { kind: 'descriptors' },
    },
    {
      name: 'permission',
      ending: { code: 1, tail: ["Error: EACCES: permission denied, open '/h/state.db'"] },
      cause: /may not use \/h\/state\.db/,
      fix: /give the file/,
      permanent: true,
    },
    {
      name: 'corrupt',
      ending: { code: 1, tail: ['SqliteError: database disk image is malformed'] },
      cause: /database of it is damaged/,
      fix: /agent recover/,
      permanent: true,
    },
    {
      name: 'locked',
      ending: { code: 1, tail: ['SqliteError: database is locked'] },
      cause: /locked by another/,
      fix: /fuser/,
      shortage: { kind: 'store' },
    },
    {
      name: 'heap',
      ending: { signal: 'SIGABRT', tail: ['FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'] },
      cause: /ran out of JavaScript heap/,
      fix: /memory_soft_mb/,
    },
    { name: 'segv', ending: { signal: 'SIGSEGV' }, cause: /native code \(SIGSEGV/, fix: /core/ },
    { name: 'bus', ending: { signal: 'SIGBUS' }, cause: /SIGBUS; also a full disk/, fix: /df -h/ },
    { name: '75', ending: { code: 75 }, cause: /asked to be started again/, fix: null },
    { name: '78', ending: { code: 78 }, cause: /refused its configuration/, fix: /correct the configuration/, permanent: true },
    { name: '0', ending: { code: 0, tail: ['Error: EACCES, but handled'] }, cause: /exited with code 0 without being asked/, fix: null },
    {
      name: 'a stop signal from outside that the worker obeyed',
      ending: { code: 0, outsideSignal: 'SIGTERM' },
      cause: /ended by SIGTERM from another process/,
      fix: /agent stop/,
    },
    { name: 'abort', ending: { signal: 'SIGABRT' }, cause: /aborted without a message, or another process sent/, fix: null },
    {
      name: 'no thread',
      ending: {
        signal: 'SIGABRT',
        tail: ["node: ../src/node_platform.cc:68: Assertion `(0) == (uv_thread_create(t.get(), start, this))' failed."],
      },
      cause: /no further process or thread/,
      fix: /ulimit -u/,
      shortage: { kind: 'processes' },
    },
    {
      name: 'the store of an own error',
      ending: { code: 1, tail: ['STORE_BUSY: /h/cron/cron.db is locked by another process'] },
      cause: /cron\.db is locked/,
      fix: null,
      shortage: { kind: 'store' },
    },
    {
      name: 'the port of an own error',
      ending: { code: 1, tail: ['PORT_IN_USE: port 8644 on 127.0.0.1 is taken by another program — end it'] },
      cause: /8644/,
      fix: /end it/,
      shortage: { kind: 'port', at: '127.0.0.1:8644' },
    },
    {
      name: 'memory that the system refused',
      ending: { code: 1, tail: ['fork: Cannot allocate memory'] },
      cause: /no memory/,
      fix: /overcommit/,
      shortage: { kind: 'memory' },
    },
    {
      name: 'a refusal that a sidecar met long before its end',
      ending: { isSidecar: true, code: 1, tail: ['read: Resource temporarily unavailable', ...Array(10).fill('serving'), 'Error: broken'] },
      cause: /crashed with code 1/,
      fix: null,
    },
    {
      name: 'the process limit',
      ending: { spawnError: 'spawn /bin/x EAGAIN' },
      cause: /could not be started: spawn \/bin\/x EAGAIN/,
      fix: /TasksMax/,
      shortage: { kind: 'processes' },
    },
    {
      name: 'the working directory of a sidecar',
      ending: { isSidecar: true, spawnError: 'spawn /bin/sleep ENOENT', missing: { what: 'folder', path: '/no/where' } },
      cause: /its working directory \/no\/where does not exist/,
      fix: /create \/no\/where.*services\.<slot>\.cwd/,
      shortage: { kind: 'program', at: '/no/where' },
    },
    {
      name: 'the interpreter of a script',
      ending: { spawnError: 'spawn /bin/x ENOENT', missing: { what: 'interpreter', path: '/no/python' } },
      cause: /interpreter \/no\/python, named after #!/,
      fix: /install \/no\/python/,
      shortage: { kind: 'program', at: '/no/python' },
    },
    {
      name: 'a crash in the native code of a sidecar',
      ending: { isSidecar: true, signal: 'SIGSEGV' },
      cause: /native code/,
      fix: /that program/,
    },
    { name: '127', ending: { code: 127 }, cause: /could not run its program/, fix: /path/, permanent: true },
    { name: '143', ending: { code: 143 }, cause: /signal 15/, fix: null },
    { name: 'unwatched', ending: {}, cause: /while no supervisor watched/, fix: null },
    { name: 'term', ending: { signal: 'SIGTERM' }, cause: /SIGTERM that the supervisor did not send/, fix: null },
    { name: 'asked', ending: { signal: 'SIGTERM', askedBy: 'restart by cli' }, cause: /while "restart by cli" was under way/, fix: null },
    { name: 'spawn', ending: { spawnError: 'spawn EACCES' }, cause: /could not be started/, fix: /may be run/, permanent: true },
    {
      name: 'not ready',
      ending: { signal: 'SIGKILL', killedFor: 'was not ready within 20 s' },
      cause: /because it was not ready/,
      fix: /startup_ms/,
    },
    {
      name: 'a sidecar that is not ready has settings of its own',
      ending: { isSidecar: true, signal: 'SIGKILL', killedFor: 'was not ready within 20 s' },
      cause: /because it was not ready/,
      fix: /services\.<slot>\.start_timeout_seconds/,
    },
    {
      name: 'a sidecar with too much memory',
      ending: { isSidecar: true, signal: 'SIGKILL', killedFor: 'used 213 MB of memory, more than its hard limit of 60 MB' },
      cause: /because it used 213 MB/,
      fix: /services\.<slot>\.memory_max_mb/,
    },
    {
      name: 'blocked',
      ending: { signal: 'SIGABRT', killedFor: 'blocked its main loop: …' },
      cause: /because it blocked/,
      fix: /the stack below/,
    },
  ];
  for (const { name, ending, cause, fix, permanent = false, shortage } of rows) {
    const said = explain(ended(ending));
    t.match(said, { cause, permanent, ...(fix ? { fix } : {}), ...(shortage ? { shortage } : {}) }, name);
    t.equal(said.shortage === undefined, shortage === undefined, `${name}: whether it passes without a person`);
    if (!fix) t.equal(said.fix, null, name);
  }
});

t.test(
  'lesson 30: a kill for lack of memory is named from what the kernel counts and what was measured, never from the heap',
  async (t) => {
    const kill = (memory: Ending['memory']) => explain(ended({ signal: 'SIGKILL', memory }));
    t.match(kill({ ...roomy, oomKills: 1 }).cause, /killed by the kernel because its memory limit was reached/, 'proved');
    t.match(
      kill({ ...roomy, rssBytes: 950 * MiB, hardBytes: 1_000 * MiB }).cause,
      /probably because memory ran out: it held 950 MiB of its 1000 MiB/,
    );
    t.match(kill({ freeBytes: 100 * MiB, totalBytes: 16_000 * MiB }).cause, /probably by the kernel because the machine ran out of memory/);
    t.match(
      kill({ ...roomy, oomKills: 0, kernel: { counted: 0, logged: null } }).cause,
      /by another process; the kernel killed nothing for lack of memory/,
    );
    t.match(kill({ ...roomy, kernel: { counted: null, logged: null } }).cause, /who sent it is not known/, 'no guess');
    t.match(kill({ ...roomy, kernel: { counted: 2, logged: null } }).cause, /probably by the kernel: it killed 2/);
    t.match(kill({ ...roomy, kernel: { counted: 1, logged: 'cgroup' } }).cause, /memory limit of its cgroup was reached .*kernel log/);
    const log =
      '3,1,1,-;Memory cgroup out of memory: Killed process 41 (agent-cron) total-vm:1kB\n3,2,2,-;Out of memory: Killed process 5 (x)\n';
    t.same(
      [41, 5, 4].map((pid) => loggedKill(log, pid)),
      ['cgroup', 'machine', null],
    );
    t.match(kill({ ...roomy, oomKills: 1 }).fix, /more memory/);
    t.not(kill(roomy).signature, kill({ ...roomy, oomKills: 1 }).signature, 'they are told apart');
  },
);

t.test('equal causes have equal signatures, different ones have not', async (t) => {
  const crash = (message: string, frame: string, code = 1) =>
    explain(ended({ code, tail: ['some line', message, '    at node:internal/x:1:1', `    at ${frame}`, '', 'Node.js v24.21.0'] }))
      .signature;
  const one = crash(
    "TypeError: Cannot read properties of undefined (reading 'x')",
    'Turn.run (file:///opt/agent/services/agent/turns.ts:10:5)',
  );
  t.equal(
    crash("TypeError: Cannot read properties of undefined (reading 'y')", 'Turn.run (/home/me/agent/services/agent/turns.ts:99:1)'),
    one,
  );
  t.not(crash("TypeError: Cannot read properties of undefined (reading 'x')", 'Other.run (/opt/agent/services/agent/turns.ts:10:5)'), one);
  t.not(crash("RangeError: Cannot read properties of undefined (reading 'x')", 'Turn.run (/opt/agent/services/agent/turns.ts:10:5)'), one);
  t.not(
    crash("TypeError: Cannot read properties of undefined (reading 'x')", 'Turn.run (/opt/agent/services/agent/turns.ts:10:5)', 2),
    one,
  );
  const hung = (ms: string) => explain(ended({ signal: 'SIGABRT', killedFor: `showed no sign of life for ${ms}` })).signature;
  t.equal(hung('31 s'), hung('2 h 5 min'));
});

t.test('what changes from one end to the next is taken out', async (t) => {
  t.equal(
    normalise("ENOENT: open '/home/me/.agent/state.db' after 31 s at 0x7ffe12 pid 4711 5c9f3a2b1d"),
    'ENOENT: open Q after N at H pid N H',
  );
  t.equal(
    ownFrame(['Error: x', '    at foo (node:fs:1:2)', '    at async bar (/a/node_modules/b/c.js:1:2)', '    at Baz.run (/a/b.ts:3:4)']),
    'Baz.run (/a/b.ts)',
  );
});

t.test('old lines do not explain a new end', async (t) => {
  const tail = ["Error: EACCES: permission denied, open '/x'", ...Array.from({ length: 60 }, (_, n) => `line ${n}`), 'Error: boom'];
  t.match(explain(ended({ code: 1, tail })).cause, /crashed with code 1 \(Error: boom\)/);
});
