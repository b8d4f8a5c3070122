/**
 * What is dangerous about a shell command, found on its parse tree: every simple command of every list, pipe,
 * branch, function and substitution, and the commands that `sh -c`, `env`, `xargs`, `find -exec` and their like
 * run. It is a net for mistakes and for what a page talked the model into, no sandbox: what only the run can know
 * is asked about wherever it matters. Never throws; its time is bounded.
 */
import { forEachChild, parse, type Command, type ParsedScript, type Redirection, type SyntaxNode } from 'unbash';
import { limits } from '../../base/limits.ts';
import type { Danger } from '../ports.ts';
import { Call, type Finding, type Input } from './call.ts';
import { globExpression, isOwn, pathOf, secretAt, writeConcern, type Places } from './places.ts';
import { argumentFindings, ruleFor, rules } from './rules.ts';
import { bodyText, isKnown, plain, printed, textOf, UNKNOWN, wordsOf, type Field, type Scope } from './shellFields.ts';
import { isShell, wrappers } from './wrappers.ts';

export interface CommandContext {
  /** Where the session works; absolute. */
  cwd: string;
  /** Where it runs, when that is elsewhere: no place of the session's for that; absolute. */
  workdir?: string | undefined;
  /** Home directory of the user it runs as. */
  home: string;
  /** AGENT_HOME: its files and secrets are guarded. */
  agentHome?: string | undefined;
  /** Processes of the service: never to be ended. */
  pids?: readonly number[] | undefined;
}

/** Undefined = nothing to ask about. `blocked` when any part is never allowed. */
export function dangerOfCommand(command: string, { cwd, workdir = cwd, home, agentHome, pids }: CommandContext): Danger | undefined {
  const reader = new Reader({ cwd, home, agentHome, pids });
  try {
    reader.read(command, { home, cwd: workdir, vars: new Map(), aliases: new Map() }, 0);
  } catch (thrown) {
    // A text that is too deep for the parser or for us: nobody can say what it does.
    if (!(thrown instanceof RangeError)) throw thrown;
    reader.note({ reason: 'it is nested too deeply to be read' });
  }
  return reader.danger(command, workdir);
}

/** Shapes of findings that may be allowed for good, each as the exact line it was found in; all others at most for a session. */
const LASTING =
  /^(?:git push --force|(?:systemctl|launchctl|service) ?(?:start|stop|restart|reload|daemon-reload|kickstart)?|kubectl (?:replace|scale)|(?:terraform|tofu) apply|pulumi up|pkill|killall|write \/(?:srv|opt|mnt|media|data))$/;

const none: Input = { kind: 'none' };

class Reader {
  #places: Places;
  #findings: Finding[] = [];
  #steps = 0;

  constructor(places: Places) {
    this.#places = places;
  }

  /** A rule allows the line as it is written, in the folder where it runs: nothing that only looks alike. */
  danger(command: string, workdir: string): Danger | undefined {
    const blocked = this.#findings.filter(({ blocked: never }) => never);
    const found = blocked.length ? blocked : this.#findings;
    if (found.length === 0) return undefined;
    const reasons = [...new Set(found.map(({ reason }) => reason))].slice(0, REASONS_MAX);
    if (blocked.length) return { command, reasons, blocked: true };
    const shapes = found.map(({ rule }) => rule);
    if (shapes.includes(undefined)) return { command, reasons };
    const rule = `${command.trim()} (in ${workdir})`;
    if (rule.length > limits.approvals.ruleMaxChars) return { command, reasons };
    return { command, reasons, rule, lasting: shapes.every((shape) => LASTING.test(shape!)) };
  }

  note(finding: Finding): void {
    if (this.#findings.length < FINDINGS_MAX || finding.blocked) this.#findings.push(finding);
  }

  /** A text as a shell reads it. */
  read(text: string, scope: Scope, depth: number, input: Input = none): void {
    if (depth > DEPTH_MAX) return this.note({ reason: 'it is nested too deeply to be read' });
    if (text.length > limits.approvals.commandMaxChars) return this.note({ reason: 'it is too long to be read' });
    if (text.includes(UNKNOWN)) this.note({ reason: 'part of what a shell is to run is known only then' });
    const script = parse(text.replaceAll(UNKNOWN, '$__unknown'));
    learnVariables(script, scope);
    this.#visit(script, { scope, depth, input });
  }

  #visit(node: SyntaxNode, at: Place): void {
    if (++this.#steps > limits.approvals.nodesMax) throw new RangeError('too many nodes');
    switch (node.type) {
      case 'Script': {
        const { errors } = node;
        if (errors?.length) this.note({ reason: `it cannot be parsed (${errors[0]!.message})` });
        break;
      }
      case 'Command':
        this.#command(node, at);
        break;
      case 'Pipeline': {
        let input = at.input;
        for (const command of node.commands) {
          this.#visit(command, { ...at, input });
          input = command.type === 'Command' ? outputOf(command, at.scope, input) : { kind: 'pipe', from: 'a pipe' };
        }
        return;
      }
      case 'Subshell':
        return forEachChild(node, (child) => this.#visit(child, { ...at, scope: { ...at.scope, aliases: new Map(at.scope.aliases) } }));
      case 'Function':
        if (isForkBomb(node.name.value, node.body)) this.note({ reason: 'it is a fork bomb', blocked: true });
        break;
      case 'Redirected':
        this.#redirections(node.redirects, at);
        break;
      case 'CommandExpansion':
      case 'ArithmeticCommandExpansion':
      case 'ProcessSubstitution':
        if (node.script) this.#visit(node.script, { ...at, input: none, scope: { ...at.scope } });
        else this.note({ reason: 'part of it cannot be parsed' });
        return;
    }
    forEachChild(node, (child) => this.#visit(child, at));
  }

  #command(command: Command, { scope, depth, input }: Place): void {
    this.#redirections(command.redirects, { scope, depth, input });
    for (const prefix of command.prefix) {
      if (prefix.type !== 'Assignment' || !command.name) continue;
      const value = prefix.value.type === 'Word' ? textOf(prefix.value, scope).text : UNKNOWN;
      if (/^(?:LD_PRELOAD|LD_LIBRARY_PATH|BASH_ENV|ENV|DYLD_INSERT_LIBRARIES|PROMPT_COMMAND)$/.test(prefix.name))
        this.note({ reason: `${prefix.name} makes programs run other code` });
      else if (
        /^(?:GIT_\w*(?:SSH_COMMAND|PAGER|EDITOR|ASKPASS)|GIT_EXTERNAL_DIFF|PAGER|MANPAGER|EDITOR|VISUAL|LESSOPEN)$/.test(prefix.name)
      )
        this.read(value, scope, depth + 1);
    }
    const words = wordsOf(command, scope);
    if (command.name) this.run(words, { scope, depth, input: inputOf(command.redirects, scope) ?? input });
  }

  /** One command with its words worked out: its own rules, then what it runs in turn. */
  run(words: readonly Field[], at: Place): void {
    if (at.depth > DEPTH_MAX) return this.note({ reason: 'it is nested too deeply to be read' });
    const [first, ...args] = words;
    if (!first) return;
    const alias = at.scope.aliases.get(first.text);
    if (alias) return this.run([...alias, ...args], { ...at, depth: at.depth + 1 });
    if (!isKnown(first)) this.note({ reason: 'which command runs is known only then' });
    for (const name of namesOf(first)) this.#judge(new Call(name, args, { scope: at.scope, places: this.#places, input: at.input }), at);
  }

  #judge(call: Call, at: Place): void {
    const { name, args } = call;
    const { scope, depth, input } = at;
    for (const finding of [...(ruleFor(name)?.(call) ?? []), ...argumentFindings(call, (path) => isOwn(path, this.#places))])
      if (finding) this.note(finding);
    if (name === 'cd' || name === 'pushd')
      scope.cwd = args.length === 0 ? scope.home : pathOf(call.operands[0] ?? plain(scope.home), scope.cwd);
    if (scope.cwd?.includes(UNKNOWN)) scope.cwd = undefined;
    if (name === 'alias') this.#aliases(args, at);
    if (name === 'source' || name === '.') this.#source(call);
    const inner = Object.hasOwn(wrappers, name) ? wrappers[name]!(args) : [];
    if (name === 'env' && inner.length === 0) this.note({ reason: 'it prints all variables of the environment', rule: 'env' });
    for (const next of inner) {
      if ('unknown' in next) this.note({ reason: next.unknown });
      else if ('script' in next) this.read(next.script.text, { ...scope, vars: new Map() }, depth + 1, input);
      else
        this.run(name === 'xargs' && input.kind === 'text' ? withInput(next.words, input.text) : next.words, { ...at, depth: depth + 1 });
    }
    if (name === 'xargs' && /^(?:rm|unlink|shred|kill|mv)$/.test(baseName(innerName(inner))))
      this.note({ reason: 'what it does it to is known only when it runs', rule: `xargs ${baseName(innerName(inner))}` });
    if (isShell(name) && inner.length === 0) this.#shellInput(call, depth);
  }

  /** A shell that reads what it runs. */
  #shellInput(call: Call, depth: number): void {
    const { name, input, scope, operands } = call;
    const file = operands[0];
    if (file && file.text !== '-' && call.flag('s') !== true) {
      if (file.text.includes(UNKNOWN)) this.note({ reason: `the script that ${name} runs is known only then` });
      return;
    }
    if (input.kind === 'text') this.read(input.text, { ...scope, vars: new Map() }, depth + 1);
    if (input.kind === 'pipe') this.note({ reason: `${name} runs what ${input.from} gives it, unseen`, rule: `${input.from} | ${name}` });
  }

  #source({ operands, places, scope }: Call): void {
    const file = operands[0];
    if (!file || file.text.includes(UNKNOWN)) return this.note({ reason: 'the script that it reads is known only then' });
    if (secretAt(pathOf(file, scope.cwd) ?? '', places)) this.note({ reason: 'it reads a secret of this service', blocked: true });
  }

  #aliases(args: readonly Field[], { scope, depth }: Place): void {
    for (const { text } of args) {
      const [, name, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? [];
      if (name === undefined || value === undefined) continue;
      this.read(value, { ...scope }, depth + 1);
      scope.aliases.set(name, value.split(/\s+/).filter(Boolean).map(plain));
    }
  }

  #redirections(redirects: readonly Redirection[], { scope }: Place): void {
    for (const redirect of redirects) {
      if (redirect.type !== 'Redirect' || !redirect.target) continue;
      const target = textOf(redirect.target, scope);
      if (redirect.operator === '>&' && /^(?:\d+-?|-)$/.test(target.text)) continue;
      const path = pathOf(target, scope.cwd);
      if (redirect.operator === '<' || redirect.operator === '<&') {
        if (path !== undefined && secretAt(path, this.#places)) this.note({ reason: 'it reads a secret of this service', blocked: true });
        if (path !== undefined && /^\/proc\/[^/]+\/environ$/.test(path)) this.note({ reason: 'it reads the environment of a process' });
        if (path?.startsWith('/dev/tcp/') || path?.startsWith('/dev/udp/')) this.note({ reason: 'it connects to the network' });
        continue;
      }
      const concern = writeConcern(path, this.#places);
      if (concern) this.note(concern);
    }
  }
}

interface Place {
  scope: Scope;
  depth: number;
  input: Input;
}

/** Wrappers within wrappers; nobody writes more by hand. */
const DEPTH_MAX = 12;
const FINDINGS_MAX = 40;
const REASONS_MAX = 6;

const baseName = (text: string): string => text.slice(text.lastIndexOf('/') + 1).toLowerCase();

const innerName = (inner: readonly object[]): string => {
  const [first] = inner;
  return first && 'words' in first ? ((first.words as Field[])[0]?.text ?? '') : '';
};

/** A pattern as a name stands for every command we know that it matches. */
function namesOf(first: Field): string[] {
  const name = baseName(first.text);
  if (isKnown(first)) return [name];
  if (!/[*?[\u0000]/.test(name) || name.length > 32) return [name];
  const expression = globExpression(name);
  return [...Object.keys(rules), ...Object.keys(wrappers)].filter((known) => expression.test(known)).slice(0, 8);
}

/** What a pipe stage gives the next one. */
function outputOf(command: Command, scope: Scope, input: Input): Input {
  const words = wordsOf(command, scope);
  const text = printed(words);
  if (text !== undefined) return { kind: 'text', text };
  const name = baseName(words[0]?.text ?? '');
  const own = inputOf(command.redirects, scope) ?? input;
  if (name === 'cat' && words.length === 1 && own.kind === 'text') return own;
  return { kind: 'pipe', from: /^[\w.+-]{1,30}$/.test(name) ? name : 'a pipe' };
}

/** Text of a here-document or here-string, where it is known. */
function inputOf(redirects: readonly Redirection[], scope: Scope): Input | undefined {
  for (const redirect of redirects.toReversed()) {
    if (redirect.type === 'HereDoc')
      return { kind: 'text', text: bodyText(redirect.body.text, redirect.delimiter?.quoted ? undefined : redirect.body.parts, scope) };
    if (redirect.type === 'HereString' && redirect.target) return { kind: 'text', text: textOf(redirect.target, scope).text };
    if (redirect.type !== 'Redirect' || redirect.operator !== '<' || !redirect.target) continue;
    const { text } = textOf(redirect.target, scope);
    return { kind: 'pipe', from: text.startsWith('/dev/fd/') ? 'a substitution' : 'a file' };
  }
  return undefined;
}

/** Variables with one value that is known; whatever else sets a name makes it unknown. */
function learnVariables(script: ParsedScript, scope: Scope): void {
  const seen = new Set<string>();
  let steps = 0;
  const forget = (name: string) => scope.vars.set(name, UNKNOWN);
  const walk = (node: SyntaxNode): void => {
    if (++steps > limits.approvals.nodesMax) throw new RangeError('too many nodes');
    if (node.type === 'Assignment') {
      const known = !seen.has(node.name) && !node.append && !node.index && node.value.type === 'Word';
      seen.add(node.name);
      scope.vars.set(node.name, known && node.value.type === 'Word' ? textOf(node.value, scope).text : UNKNOWN);
    } else if (node.type === 'For' || node.type === 'Select') forget(node.name.value);
    else if (node.type === 'ParameterExpansion' && node.operation?.type === 'Default' && node.operation.operator.includes('='))
      forget(node.parameter);
    else if (
      node.type === 'Command' &&
      /^(?:read|mapfile|readarray|getopts|unset|printf|local|declare|typeset|let)$/.test(node.name?.value ?? '')
    ) {
      for (const arg of node.args) {
        if (arg.type !== 'Word' || !/^[A-Za-z_]\w*$/.test(arg.value)) continue;
        seen.add(arg.value);
        forget(arg.value);
      }
    }
    forEachChild(node, walk);
  };
  walk(script);
}

/** A function that starts itself twice in a pipe, or in the background. */
function isForkBomb(name: string, body: SyntaxNode): boolean {
  const isOwn = (node: SyntaxNode): boolean => node.type === 'Command' && node.name?.value === name;
  const holdsOwn = (node: SyntaxNode): boolean => {
    let found = isOwn(node);
    forEachChild(node, (child) => (found ||= holdsOwn(child)));
    return found;
  };
  if (body.type === 'Pipeline' && body.commands.filter(isOwn).length > 1) return true;
  if (body.type === 'Statement' && body.background && holdsOwn(body)) return true;
  let found = false;
  forEachChild(body, (child) => (found ||= isForkBomb(name, child)));
  return found;
}

function withInput(words: readonly Field[], text: string): Field[] {
  return [...words.filter((word) => word.text !== UNKNOWN), ...text.split(/\s+/).filter(Boolean).map(plain)];
}
