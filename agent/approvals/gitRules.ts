/** What git does that cannot be undone, or that runs another command. */
import type { Call, Finding, Perhaps } from './call.ts';
import { ask, when, type Rule } from './ruleForms.ts';
import { UNKNOWN, type Field } from './shellFields.ts';

/** Settings whose value is a command. */
const RUNS_LATER =
  /^(?:alias\.|pager\.|core\.(?:pager|editor|sshcommand|hookspath|fsmonitor|askpass|gitproxy)|sequence\.editor|credential\.(?:.*\.)?helper|diff\.(?:external|.*\.(?:command|textconv))|(?:filter|merge|difftool|mergetool)\..*\.(?:clean|smudge|process|driver|cmd)|gpg\.(?:.*\.)?program|protocol\.(?:ext\.)?allow|uploadpack\.packobjectshook)/i;

export const git: Rule = (call) => {
  const { args } = call;
  let at = 0;
  const found: (Finding | undefined)[] = [];
  while (at < args.length && args[at]!.text.startsWith('-')) {
    const { text } = args[at]!;
    const takes = /^(?:-c|-C|--git-dir|--work-tree|--namespace|--config-env|--exec-path)$/.test(text);
    const setting = text === '-c' ? (args[at + 1]?.text ?? '') : '';
    if (RUNS_LATER.test(setting) || /^--(?:config-env|exec-path=)/.test(text))
      found.push(ask('git is told to run another command by a setting'));
    at += takes ? 2 : 1;
  }
  const name = args[at]?.text ?? '';
  if (name.includes(UNKNOWN)) return [...found, ask('what git is to do is known only when it runs')];
  const tail = new GitCall(call, args.slice(at + 1));
  return [...found, ...(gitRules[name]?.(tail) ?? [])];
};

/** A git command without the options of git itself. */
class GitCall {
  readonly #call: Call;
  readonly args: readonly Field[];
  constructor(call: Call, args: readonly Field[]) {
    this.#call = call;
    this.args = args;
  }
  flag(letters: string, ...long: string[]): Perhaps {
    return Object.getPrototypeOf(this.#call).flag.call({ args: this.args }, letters, ...long) as Perhaps;
  }
  has(pattern: RegExp): boolean {
    return this.args.some(({ text }) => pattern.test(text));
  }
}

const cloneSetting = (call: GitCall): Finding | undefined =>
  call.args.some(({ text }) => RUNS_LATER.test(text.replace(/^(?:-c|--config=)/, '')))
    ? ask('git is told to run another command by a setting')
    : undefined;
const runsCommand = (call: GitCall, pattern: RegExp): Finding | undefined =>
  call.has(pattern) ? ask('git is told to run another command by an option') : undefined;
const REMOTE = /^(?:ext::|--(?:upload-pack|receive-pack|exec)(?:=|$))/;

const gitRules: Readonly<Record<string, (call: GitCall) => (Finding | undefined)[]>> = {
  rebase: (call) => [runsCommand(call, /^(?:-x|--exec(?:=|$))/)],
  bisect: (call) => [runsCommand(call, /^run$/)],
  submodule: (call) => [runsCommand(call, /^foreach$/)],
  grep: (call) => [runsCommand(call, /^(?:-O|--open-files-in-pager=)./)],
  difftool: (call) => [runsCommand(call, /^(?:-x|--extcmd)/)],
  clone: (call) => [runsCommand(call, REMOTE), runsCommand(call, /^-u/), cloneSetting(call)],
  fetch: (call) => [runsCommand(call, REMOTE)],
  pull: (call) => [runsCommand(call, REMOTE)],
  'ls-remote': (call) => [runsCommand(call, REMOTE)],
  archive: (call) => [runsCommand(call, REMOTE)],
  push: (call) => [
    runsCommand(call, REMOTE),
    when(call.flag('f', 'force', 'force-with-lease', 'mirror'), 'git push --force replaces what others see', 'git push --force'),
    when(call.flag('d', 'delete', 'prune'), 'it deletes branches of the remote', 'git push --delete'),
    call.has(/^\+\S/) ? ask('git push of a +ref replaces what others see', 'git push --force') : undefined,
    call.has(/^:\S/) ? ask('git push of a :ref deletes a branch of the remote', 'git push --delete') : undefined,
  ],
  reset: (call) => [when(call.flag('', 'hard', 'merge', 'keep'), 'git reset --hard throws changes away', 'git reset --hard')],
  clean: (call) => [
    when(
      call.flag('n', 'dry-run') === true ? false : call.flag('fxX', 'force'),
      'git clean deletes files that git does not know',
      'git clean -f',
    ),
  ],
  checkout: (call) => [
    when(call.flag('f', 'force'), 'git checkout --force throws changes away', 'git checkout --force'),
    call.has(/^(?:--|\.|:\/)$/) ? ask('git checkout of files throws their changes away', 'git checkout --') : undefined,
  ],
  switch: (call) => [when(call.flag('f', 'force', 'discard-changes'), 'git switch throws changes away', 'git switch --force')],
  restore: (call) => [
    call.flag('S', 'staged') === true && call.flag('W', 'worktree') !== true
      ? undefined
      : ask('git restore throws changes away', 'git restore'),
  ],
  stash: (call) => [call.has(/^(?:drop|clear)$/) ? ask('it throws stashed changes away', 'git stash drop') : undefined],
  branch: (call) => [
    call.flag('D') === true || call.has(/^--force$/) ? ask('it deletes or moves a branch by force', 'git branch -D') : undefined,
  ],
  tag: (call) => [when(call.flag('fd', 'force', 'delete'), 'it deletes or moves a tag', 'git tag -d')],
  'filter-branch': () => [ask('it rewrites the history', 'git filter-branch')],
  'filter-repo': () => [ask('it rewrites the history', 'git filter-repo')],
  'update-ref': (call) => [when(call.flag('d'), 'it deletes a ref', 'git update-ref -d')],
  reflog: (call) => [call.has(/^(?:expire|delete)$/) ? ask('it throws the way back away', 'git reflog expire') : undefined],
  gc: (call) => [call.has(/^--prune=(?:now|all)$/) ? ask('it throws unreachable commits away', 'git gc --prune') : undefined],
  worktree: (call) => [
    call.has(/^remove$/) ? when(call.flag('f', 'force'), 'it deletes a work tree with its changes', 'git worktree remove') : undefined,
  ],
  config: (call) => [call.has(RUNS_LATER) ? ask('it sets a command that git runs later', 'git config') : undefined],
};
