/**
 * The two tables: commands that are asked about, and findings that are never allowed. Each rule looks at one
 * simple command whose name is known; what only the run can know counts as "maybe" and is asked about.
 */
import { isSecretFileName } from '../../base/secretNames.ts';
import type { Call, Finding } from './call.ts';
import {
  awk,
  chmod,
  chown,
  copy,
  dd,
  download,
  find,
  format,
  mv,
  partition,
  readsTree,
  rm,
  rsync,
  sed,
  shred,
  tar,
  writesOperands,
} from './fileRules.ts';
import { git } from './gitRules.ts';
import { OWN_FILES_RULE, secretAt } from './places.ts';
import { always, ask, never, sub, unlessLooking, when, writes, type Rule } from './ruleForms.ts';
import { UNKNOWN } from './shellFields.ts';

/** Signals that leave no time to end well. */
const kill: Rule = (call) => {
  const { args } = call;
  if (args.some(({ text }) => /^-[lL]$|^--(?:list|table)$/.test(text))) return [];
  const first = args[0]?.text ?? '';
  const bySignal = /^-(?:s|n|-signal)$/.test(first) ? 2 : /^-/.test(first) && first !== '--' ? 1 : 0;
  const signal = bySignal === 2 ? (args[1]?.text ?? '') : first;
  const pids = args.slice(bySignal).filter(({ text }) => text !== '--');
  return [
    /^-?(?:-signal=)?(?:SIG)?(?:9|KILL)$/i.test(signal) ? ask('kill -9 ends a process without letting it finish', 'kill -9') : undefined,
    ...pids.map(({ text }) => {
      if (text === '1' || text === '-1') return never('it ends every process, or the first one');
      if (call.places.pids?.includes(Math.abs(Number(text)))) return never('it ends a process of this service');
      return text.includes(UNKNOWN) ? ask('which process it ends is known only when it runs', 'kill of a computed pid') : undefined;
    }),
  ];
};

const OWN_TITLES = [
  'agent-supervisor',
  'agent-agent',
  'agent-gateway',
  'agent-dashboard',
  'agent-cron',
  'agent-mcp',
  'agentd',
  'agentd.ts',
  'agentd.mjs',
];

const killByName: Rule = (call) => {
  const named = call.operands.some(({ text }) => {
    const pattern = text.toLowerCase().replace(/[\\^$.*+?()[\]{}|]/g, '');
    return (
      pattern.length > 2 &&
      OWN_TITLES.some((title) => title.startsWith(pattern) || pattern.startsWith(`${title} `) || title.includes(pattern))
    );
  });
  return [named ? never('it ends processes of this service') : ask(`${call.name} ends every process of a name`, call.name)];
};

const PACKAGE_REMOVALS = [
  'remove',
  'purge',
  'autoremove',
  'autopurge',
  'erase',
  'uninstall',
  'del',
  'delete',
  'rm',
  'dist-upgrade',
  'full-upgrade',
  'unlink',
];
const packages: Rule = (call) => {
  const found = call.operands.find(({ text }) => PACKAGE_REMOVALS.includes(text) || text.startsWith(UNKNOWN));
  const flagged = /^(?:pacman|yay)$/.test(call.name)
    ? call.flag('R', 'remove')
    : /^(?:dpkg|rpm)$/.test(call.name)
      ? call.flag('rPe', 'remove', 'purge', 'erase')
      : false;
  return [
    found ? ask('it removes software from this machine', `${call.name} ${found.text.includes(UNKNOWN) ? '…' : found.text}`) : undefined,
    when(flagged, 'it removes software from this machine', `${call.name} remove`),
  ];
};

const globalNpm: Rule = (call) =>
  call.flag('g', 'global') === false ? [] : [sub('it removes software from this machine', ['uninstall', 'remove', 'rm', 'un'])(call)[0]];

const docker: Rule = (call) => [
  when(call.flag('', 'privileged'), 'a privileged container has the rights of this machine', `${call.name} --privileged`),
  call.args.some(({ text }) => /^(?:--pid|--net|--network|--ipc|--userns)(?:=|$)host|^host$/.test(text))
    ? ask('the container shares this machine', `${call.name} host`)
    : undefined,
  call.args.some(({ text }) => /^(?:--(?:volume|mount)=?|-v)?(?:.*source=|.*src=)?\/(?:etc|root|home|var\/run\/docker\.sock)?:/.test(text))
    ? ask('the container sees folders of this machine', `${call.name} -v`)
    : undefined,
  call.word('prune') === true ? ask('it deletes what no container uses', `${call.name} prune`) : undefined,
  call.word('rm', 'rmi', 'kill', 'down') === true ? ask('it ends or deletes containers, images or volumes', `${call.name} rm`) : undefined,
];

const DESTRUCTIVE_SQL =
  /\b(?:drop\s+(?:database|schema|table|user|role|collection|index|view)|truncate\s+(?:table\s+)?["`\w]|delete\s+from\s+["`\w.]+\s*(?:;|$|["'])|alter\s+table\s+\S+\s+drop|flushall|flushdb|dropDatabase\s*\(|\.drop\s*\(|\.deleteMany\s*\(\s*\{\s*\})/i;
const database: Rule = (call) => {
  const text = `${call.text}\n${call.input.kind === 'text' ? call.input.text : ''}`;
  return [
    /(?:^|\s|["'])(?:\.(?:shell|system)\b|\\!)/.test(text) ? ask(`${call.name} is told to run a command`, `${call.name} shell`) : undefined,
    DESTRUCTIVE_SQL.test(text) ? ask('it deletes data of a database', `${call.name} drop`) : undefined,
  ];
};

const CODE =
  /\b(?:os\.(?:system|popen|remove|unlink|rmdir|removedirs|exec\w*|spawn\w*|kill|environ|chmod|chown)|subprocess|shutil|rmtree|pty\.spawn|unlink|rmSync|rmdirSync|unlinkSync|child_process|process\.(?:env|kill)|execSync|spawnSync|exec|system|popen|passthru|shell_exec|eval|__import__|ENV|FileUtils|getenv|requests\.(?:post|put)|socket)\b|`/;
const CODE_OPTIONS: Readonly<Record<string, RegExp>> = {
  python: /^-[a-zA-Z]*c$/,
  node: /^(?:-[a-z]*[ep]|--eval|--print)$/,
  perl: /^-[a-zA-Z0-9]*[eE]$/,
  ruby: /^-[a-z]*e$/,
  php: /^-r$/,
  deno: /^eval$/,
  bun: /^-e$|^--eval$/,
  lua: /^-e$/,
};
/** Code on the command line of another language: read as far as a list of words goes. */
const interpreter: Rule = (call) => {
  const family = Object.keys(CODE_OPTIONS).find((name) => call.name.startsWith(name)) ?? 'python';
  const at = call.args.findIndex(({ text }) => CODE_OPTIONS[family]!.test(text));
  const stdin = at < 0 && (call.operands.length === 0 || call.operands[0]!.text === '-');
  const found: Finding[] = [];
  if (stdin && call.input.kind === 'pipe')
    found.push(ask(`${call.name} runs what ${call.input.from} gives it`, `${call.input.from} | ${call.name}`));
  const code = at >= 0 ? call.args[at + 1]?.text : stdin && call.input.kind === 'text' ? call.input.text : undefined;
  if (code === undefined) return found;
  if (namesSecret(code, call)) return [...found, never('it reads a secret of this service')];
  if (code.includes(UNKNOWN)) return [...found, ask(`the code that ${call.name} runs is known only then`)];
  if (CODE.test(code))
    found.push(ask(`the code that ${call.name} runs reaches beyond itself (files, commands or variables)`, `${call.name} inline code`));
  return found;
};

/** Code in which the path of a secret stands as it is. */
const namesSecret = (code: string, { places: { agentHome } }: Call): boolean =>
  agentHome !== undefined &&
  new RegExp(
    `${RegExp.escape(agentHome)}/(?:[\\w./-]*/)?[#.]{0,2}(?:\\.env|auth\\.json|token|dashboard-token|dashboard-signin\\.json)\\b`,
  ).test(code);

/** Editors run what stands behind `!`. */
const editor: Rule = (call) =>
  call.args.some(({ text }) => /^(?:-c|--cmd|\+)/.test(text)) &&
  call.args.some(({ text }) => /!|\bsystem\s*\(|\bshell-command\b/.test(text))
    ? [ask(`${call.name} is told to run a command`, `${call.name} -c`)]
    : [];

const environment: Rule = (call) => {
  if (call.name === 'printenv') {
    const asked = call.operands.map(({ text }) => text);
    return asked.length > 0 && asked.every((name) => !/KEY|TOKEN|SECRET|PASS|CRED|COOKIE|\u0000/i.test(name))
      ? []
      : [ask('it prints variables of the environment', 'printenv')];
  }
  return [ask('it prints all variables of the environment', call.name)];
};
const dumpsWhen =
  (pattern: RegExp): Rule =>
  (call) =>
    pattern.test(call.text.trim()) ? [ask('it prints all variables of the shell', call.name)] : [];

const network: Rule = (call) =>
  call.args.some(({ text }) => /^-[a-z]*[ec]$|^--(?:exec|sh-exec|lua-exec)|^(?:EXEC|SYSTEM):/i.test(text))
    ? [ask(`${call.name} connects a command to the network`, `${call.name} -e`)]
    : [];

const CLI_LOOKS = ['status', 'why', 'logs', 'doctor', 'help', 'completion', '--help', '--version', '-h', 'prompt-size'];
const ownCommand: Rule = (call) => {
  const [first, second] = call.operands.map(({ text }) => text);
  if (first === undefined || CLI_LOOKS.includes(first)) return [];
  if (second !== undefined && /^(?:list|get|show|path|check|search|export|runs|test|pending|view|tools)$/.test(second)) return [];
  return [ask('it changes this service itself', `agent ${first.includes(UNKNOWN) ? '…' : first}`)];
};

const both =
  (...rules: Rule[]): Rule =>
  (call) =>
    rules.flatMap((rule) => rule(call));

const many = (names: string, rule: Rule): Record<string, Rule> => Object.fromEntries(names.split(' ').map((name) => [name, rule]));

/** By name of the command. */
export const rules: Readonly<Record<string, Rule>> = {
  rm,
  find,
  chmod,
  dd,
  shred,
  git,
  kill,
  awk,
  sed,
  tar: both(tar, readsTree),
  mv,
  rsync: both(rsync, readsTree),
  ...many('unlink srm', writesOperands),
  ...many('chown chgrp setfacl', chown),
  ...many('wipefs blkdiscard mkswap mke2fs mkfs newfs', format),
  ...many('fdisk sfdisk cfdisk gdisk sgdisk parted diskutil', partition),
  ...many(
    'cryptsetup lvremove vgremove pvremove zpool zfs mdadm hdparm badblocks swapoff swapon mount umount',
    always('it changes the disks of this machine'),
  ),
  ...many('sudo su doas pkexec run0 runuser', ({ name, args }) => {
    const inner = args.find(({ text }) => !text.startsWith('-') && !/^\w+=/.test(text));
    return [
      ask(
        `${name} runs a command with the rights of another user`,
        inner && !inner.text.includes(UNKNOWN) ? `${name} ${inner.text}` : name,
      ),
    ];
  }),
  systemctl: unlessLooking(
    'it starts, stops or changes services of this machine',
    'status show cat help is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets list-dependencies get-default --version'.split(
      ' ',
    ),
  ),
  launchctl: unlessLooking('it starts, stops or changes services of this machine', ['list', 'print', 'help', 'version']),
  service: (call) =>
    /^(?:status|--status-all)$/.test(call.operands.at(-1)?.text ?? call.args[0]?.text ?? '')
      ? []
      : [ask('it starts or stops services of this machine', 'service')],
  loginctl: sub('it ends sessions or this machine', [
    'terminate-session',
    'terminate-user',
    'kill-session',
    'kill-user',
    'poweroff',
    'reboot',
  ]),
  ...many('reboot shutdown halt poweroff init telinit kexec', always('it ends or restarts this machine')),
  ...many(
    'apt apt-get aptitude yum dnf zypper apk brew snap flatpak pip pip3 pipx gem cargo conda mamba port dpkg rpm pacman yay',
    packages,
  ),
  ...many('npm pnpm yarn', globalNpm),
  crontab: (call) => (call.flag('l') === true && call.flag('re') === false ? [] : [ask('it changes jobs that run later', 'crontab')]),
  ...many('at batch', always('it makes a command run later')),
  ...many('pkill killall killall5 skill', killByName),
  ...many('docker podman nerdctl', docker),
  kubectl: sub('it deletes or changes what runs in a cluster', ['delete', 'drain', 'replace', 'scale', 'exec']),
  helm: sub('it removes what runs in a cluster', ['uninstall', 'delete', 'rollback']),
  ...many('terraform tofu pulumi', sub('it changes machines elsewhere', ['destroy', 'apply', 'up'])),
  ...many('psql mysql mariadb sqlite3 mongosh mongo redis-cli clickhouse-client sqlcmd duckdb cqlsh', database),
  ...many('dropdb dropuser', always('it deletes a database')),
  mysqladmin: sub('it deletes a database or stops the server', ['drop', 'shutdown', 'kill']),
  truncate: (call) => [ask('truncate throws the content of files away', 'truncate'), ...writes(call, call.operands)],
  ...many('iptables ip6tables nft ebtables ufw firewall-cmd pfctl', (call) =>
    call.flag('LSnv', 'list', 'list-all', 'state') === true || /^(?:status|list)$/.test(call.sub ?? '')
      ? []
      : [ask('it changes the firewall of this machine', call.name)],
  ),
  ip: (call) =>
    call.word('add', 'del', 'delete', 'set', 'flush', 'change', 'replace') === true
      ? [ask('it changes the network of this machine', 'ip')]
      : [],
  ...many('modprobe insmod rmmod', always('it changes the kernel')),
  sysctl: (call) =>
    call.flag('wp', 'write', 'load', 'system') !== false || call.args.some(({ text }) => /^[^-].*=/.test(text))
      ? [ask('it changes the kernel', 'sysctl')]
      : [],
  ...many(
    'useradd userdel usermod adduser deluser groupadd groupdel groupmod passwd chpasswd visudo chsh gpasswd',
    always('it changes the users of this machine'),
  ),
  ...many('chroot unshare nsenter', always('it runs a command outside the usual bounds')),
  printenv: environment,
  set: dumpsWhen(/^$/),
  export: dumpsWhen(/^-p$|^$/),
  ...many('declare typeset', dumpsWhen(/^(?:-[a-z]*[px][a-z]*)?$/)),
  compgen: dumpsWhen(/^-[a-z]*v/),
  ...many('nc ncat netcat socat', network),
  ...many('python python2 python3 node nodejs perl ruby php deno bun lua', interpreter),
  ...many('gawk mawk nawk', awk),
  ...many('vi vim nvim ex view', editor),
  ...many('tee touch mkdir rmdir mkfifo mknod', writesOperands),
  ...many('cp install ln scp', both(copy, readsTree)),
  ...many('curl wget', download),
  ...many('grep egrep fgrep zgrep rg ag ack zip 7z', readsTree),
  agent: ownCommand,
};

/** The rule for a name: some come in families (`mkfs.ext4`, `python3.12`). */
export function ruleFor(name: string): Rule | undefined {
  if (Object.hasOwn(rules, name)) return rules[name];
  if (name.startsWith('mkfs.')) return format;
  if (/^(?:python|pip)[0-9.]+$/.test(name)) return name.startsWith('pip') ? packages : interpreter;
  return undefined;
}

/** Commands that only show that a file is there. */
const LOOKERS = new Set([
  'ls',
  'stat',
  'test',
  '[',
  'chmod',
  'chown',
  'touch',
  'mkdir',
  'find',
  'cd',
  'rm',
  'realpath',
  'readlink',
  'basename',
  'dirname',
  'echo',
  'printf',
  'du',
  'git',
]);
/** Commands that may look into the service's own files (not its secrets). */
const READERS = new Set(
  'ls stat test [ cat head tail less more grep egrep fgrep rg jq yq wc file du tree find diff cmp md5sum sha256sum realpath readlink basename dirname echo printf cd pwd pushd popd od xxd strings sort uniq cut awk sed'.split(
    ' ',
  ),
);

/** What any command may not be pointed at: secrets of the service, its files, the environment of processes. */
export function argumentFindings(call: Call, isOwnFile: (path: string) => boolean): Finding[] {
  const found: Finding[] = [];
  for (const arg of call.args) {
    for (const text of candidates(arg.text)) {
      const path = call.path({ ...arg, text });
      if (path === undefined) continue;
      if (/^\/proc\/[^/]+\/(?:environ|mem)$|^\/proc\/[^/]+\/task\/[^/]+\/environ$/.test(path))
        found.push(ask('it reads the environment of a process'));
      else if (secretAt(path, call.places) && !LOOKERS.has(call.name)) found.push(never('it reads a secret of this service'));
      else if (isOwnFile(path) && !READERS.has(call.name))
        found.push(ask(`${call.name} is pointed at the service's own files`, OWN_FILES_RULE));
    }
  }
  return found;
}

/** An argument may hold a path after an option, a `=`, `@` or `:`. */
function candidates(text: string): string[] {
  const after = [...text.matchAll(/[=@:,]/g)].slice(0, 4).map(({ index }) => text.slice(index + 1));
  return [text, ...after, ...(/^-\w\//.test(text) ? [text.slice(2)] : [])].filter(
    (part) => part !== '' && (part.includes('/') || part.startsWith('.') || isSecretFileName(part)),
  );
}
