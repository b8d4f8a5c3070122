/** Commands that run another command: where in their arguments that one stands. Nothing here judges. */
import { UNKNOWN, type Field } from './shellFields.ts';

/** What a wrapper runs: words of a command, or a text that a shell reads. */
export type Inner = { words: readonly Field[] } | { script: Field } | { unknown: string };

const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'mksh', 'ash', 'fish', 'rbash', 'csh', 'tcsh', 'su']);
export const isShell = (name: string): boolean => SHELLS.has(name);

interface Options {
  /** Short options that take a value of their own. */
  short?: string;
  long?: readonly string[];
}

/** Position of the first word that is no option. */
function afterOptions(args: readonly Field[], { short = '', long = [] }: Options = {}): number {
  let at = 0;
  while (at < args.length) {
    const { text } = args[at]!;
    if (text === '--') return at + 1;
    if (!text.startsWith('-') || text === '-') return at;
    if (text.startsWith('--')) at += !text.includes('=') && long.includes(text.slice(2)) ? 2 : 1;
    else at += short.includes(text.at(-1)!) && Array.from(text.slice(1, -1)).every((letter) => !short.includes(letter)) ? 2 : 1;
  }
  return at;
}

const rest = (args: readonly Field[], options?: Options): Inner[] => {
  const words = args.slice(afterOptions(args, options));
  return words.length ? [{ words }] : [];
};

type Unwrap = (args: readonly Field[]) => Inner[];

/** `-c text` of a shell, in any cluster of letters. */
function shellScript(args: readonly Field[]): Inner[] {
  const at = args.findIndex(({ text }) => /^-[a-zA-Z]*c[a-zA-Z]*$/.test(text) || text === '--command');
  if (at < 0) {
    const joined = args.find(({ text }) => text.startsWith('--command='));
    return joined ? [{ script: { ...joined, text: joined.text.slice('--command='.length) } }] : [];
  }
  // Options may follow, each `o` and `O` with a word of its own; the first word after them is the text.
  let next = at + 1 + wordsTaken(args[at]!.text);
  while (/^[-+]./.test(args[next]?.text ?? '')) {
    const { text } = args[next]!;
    next += 1 + wordsTaken(text);
    if (text === '--') break;
  }
  const script = args[next];
  return script ? [{ script }] : [];
}

/** Of a cluster of a shell's options: `-euo` takes the name of one. */
const wordsTaken = (text: string): number => (text.startsWith('--') ? 0 : Array.from(text).filter((letter) => /[oO]/.test(letter)).length);

const asScript = (words: readonly Field[]): Inner[] =>
  words.length ? [{ script: { text: words.map(({ text }) => text).join(' '), glob: words.some(({ glob }) => glob) } }] : [];

/** `NAME=value …` before the command, as env and sudo take them. */
const afterAssignments = (words: readonly Field[]): readonly Field[] => {
  const at = words.findIndex(({ text }) => !/^[A-Za-z_]\w*=/.test(text));
  return at < 0 ? [] : words.slice(at);
};

function env(args: readonly Field[]): Inner[] {
  const at = args.findIndex(({ text }) => /^-[a-zA-Z]*S/.test(text) || text.startsWith('--split-string'));
  if (at >= 0) {
    const own = args[at]!.text.replace(/^(?:-[a-zA-Z]*?S|--split-string=?)/, '');
    return asScript([...(own ? [{ text: own, glob: false }] : []), ...args.slice(at + 1)]);
  }
  const words = afterAssignments(args.slice(afterOptions(args, { short: 'uC', long: ['unset', 'chdir'] })));
  return words.length ? [{ words }] : [];
}

/** The part between `-exec` and `;` or `+`. */
function findExec(args: readonly Field[]): Inner[] {
  return args.flatMap(({ text }, at) => {
    if (!/^-(?:exec|execdir|ok|okdir)$/.test(text)) return [];
    const tail = args.slice(at + 1);
    const end = tail.findIndex((field) => field.text === ';' || field.text === '+');
    return [{ words: (end < 0 ? tail : tail.slice(0, end)).map(placeholder) }];
  });
}

const placeholder = (field: Field): Field => (field.text.includes('{}') ? { ...field, text: field.text.replaceAll('{}', UNKNOWN) } : field);

function xargs(args: readonly Field[]): Inner[] {
  const at = afterOptions(args, {
    short: 'aEeIiLlnPsd',
    long: ['arg-file', 'delimiter', 'max-lines', 'max-args', 'max-procs', 'max-chars', 'replace'],
  });
  const words = args.slice(at);
  const sign = args
    .slice(0, at)
    .map(({ text }, index) => /^-I(.*)$/.exec(text)?.[1] || (text === '-I' ? args[index + 1]?.text : undefined));
  const replaced = sign.find((text) => text !== undefined);
  if (words.length === 0) return [];
  if (replaced) return [{ words: words.map((word) => ({ ...word, text: word.text.replaceAll(replaced, UNKNOWN) })) }];
  return [{ words: [...words, { text: UNKNOWN, glob: false }] }];
}

function ssh(args: readonly Field[]): Inner[] {
  const at = afterOptions(args, { short: 'BbcDEeFIiJLlmOopQRSWw' });
  return [...sshOptions(args), ...asScript(args.slice(at + 1))];
}

/** Commands among the settings of ssh and its like, with `=` or a space. */
function sshOptions(args: readonly Field[]): Inner[] {
  const commands = args.flatMap(({ text }) => /^(?:-\w*o)?\s*(?:Proxy|Local|KnownHosts)Command(?:\s*=\s*|\s+)(.*)$/i.exec(text)?.[1] ?? []);
  return commands.flatMap((text) => asScript([{ text, glob: false }]));
}

/** Values of an option that is a command: `-e cmd`, `-ecmd`, `--rsh cmd`, `--rsh=cmd`. */
const valuesOf =
  (short: string, ...long: string[]): Unwrap =>
  (args) =>
    args.flatMap(({ text }, at) => {
      const joined = long.map((name) => `--${name}=`).find((start) => text.startsWith(start));
      if (joined) return asScript([{ text: text.slice(joined.length), glob: false }]);
      if (long.some((name) => text === `--${name}`) || (short && text === `-${short}`)) return asScript(args.slice(at + 1, at + 2));
      return short && text.startsWith(`-${short}`) && !text.startsWith('--') ? asScript([{ text: text.slice(2), glob: false }]) : [];
    });

/** Its own option for a text, else the words after the options and `skip` operands. */
const withOperands =
  (skip: number, options: Options = {}): Unwrap =>
  (args) => {
    const words = args.slice(afterOptions(args, options) + skip);
    return words.length ? [{ words }] : [];
  };

function flock(args: readonly Field[]): Inner[] {
  const script = shellScript(args);
  return script.length ? script : withOperands(1, { short: 'wE', long: ['timeout', 'wait', 'conflict-exit-code'] })(args);
}

const scriptOrWords =
  (options: Options = {}): Unwrap =>
  (args) => {
    const script = shellScript(args);
    return script.length ? script : rest(args, options);
  };

export const wrappers: Readonly<Record<string, Unwrap>> = {
  ...Object.fromEntries([...SHELLS].map((name) => [name, shellScript])),
  sudo: (args) => {
    const words = afterAssignments(
      args.slice(
        afterOptions(args, { short: 'ughpCcrRtTUD', long: ['user', 'group', 'host', 'prompt', 'chroot', 'chdir', 'role', 'type'] }),
      ),
    );
    return words.length ? [{ words }] : [];
  },
  doas: (args) => rest(args, { short: 'uC' }),
  pkexec: (args) => rest(args, { long: ['user'] }),
  run0: (args) => rest(args, { short: 'ugD', long: ['user', 'group'] }),
  runuser: scriptOrWords({ short: 'ugGw', long: ['user', 'group'] }),
  env,
  nohup: (args) => rest(args),
  setsid: (args) => rest(args),
  stdbuf: (args) => rest(args, { short: 'ioe' }),
  nice: (args) => rest(args, { short: 'n', long: ['adjustment'] }),
  ionice: (args) => rest(args, { short: 'cnpPu' }),
  chrt: withOperands(1, { short: 'TPD' }),
  taskset: withOperands(1),
  time: (args) => rest(args, { short: 'fo' }),
  command: (args) => (args.some(({ text }) => /^-[vV]+$/.test(text)) ? [] : rest(args)),
  builtin: (args) => rest(args),
  exec: (args) => rest(args, { short: 'a' }),
  timeout: withOperands(1, { short: 'ks', long: ['kill-after', 'signal'] }),
  chroot: withOperands(1),
  unshare: (args) => rest(args, { short: 'SGR' }),
  nsenter: (args) => rest(args, { short: 'tSG' }),
  'systemd-run': (args) => rest(args, { short: 'pHMu', long: ['unit', 'property', 'slice', 'uid', 'gid', 'on-calendar', 'on-active'] }),
  busybox: (args) => rest(args),
  toybox: (args) => rest(args),
  strace: (args) => rest(args, { short: 'aeEIoOpPsSuX' }),
  ltrace: (args) => rest(args, { short: 'aelnopsSuxX' }),
  gdb: (args) => rest(args),
  watch: (args) => asScript(args.slice(afterOptions(args, { short: 'n', long: ['interval'] }))),
  script: scriptOrWords({ short: 'IOBTEolm' }),
  flock,
  xargs,
  parallel: (args) => asScript(args.slice(afterOptions(args, { short: 'jIS' }))),
  find: findExec,
  fd: (args) => {
    const at = args.findIndex(({ text }) => /^(?:-[xX]|--exec|--exec-batch)$/.test(text));
    return at < 0 ? [] : [{ words: [...args.slice(at + 1).map(placeholder), { text: UNKNOWN, glob: false }] }];
  },
  ssh,
  eval: asScript,
  trap: (args) => {
    const at = afterOptions(args);
    return args.length - at > 1 ? asScript(args.slice(at, at + 1)) : [];
  },
  coproc: (args) => rest(args),
  start: (args) => rest(args),
  entr: (args) => rest(args),
  'dbus-run-session': (args) => rest(args),
  fakeroot: (args) => rest(args, { short: 'lsibd' }),
  setarch: withOperands(1),
  linux32: (args) => rest(args),
  linux64: (args) => rest(args),
  unbuffer: (args) => rest(args),
  rlwrap: (args) => rest(args),
  setpriv: (args) => rest(args),
  prlimit: (args) => rest(args, { short: 'po' }),
  sg: (args) => shellScript(args),
  scp: (args) => [...sshOptions(args), ...valuesOf('S')(args)],
  sftp: (args) => [...sshOptions(args), ...valuesOf('S')(args)],
  rsync: valuesOf('e', 'rsh', 'rsync-path'),
  split: valuesOf('', 'filter'),
  sort: valuesOf('', 'compress-program'),
  man: valuesOf('P', 'pager'),
  'xvfb-run': (args) => rest(args, { short: 'efnspw' }),
  make: (args) => args.flatMap(({ text }) => (/^SHELL=/.test(text) ? [{ unknown: 'it sets the shell that make uses' }] : [])),
};
