/**
 * A whole service without I/O: the slot table, the answers and the reconciler under a virtual clock, around
 * them processes, files and operators that do what a tape of random numbers says. Every step checks the
 * invariants; a tape that breaks one replays it.
 */
import { holds, parseSentinel } from '../../state/pause.ts';
import type { Shortage } from '../../ipc/contracts/supervisor.ts';
import { verdict } from '../../supervisor/answer.ts';
import { isWanted } from '../../supervisor/reconcile.ts';
import { newSlot, nextSlot, type Effect, type Slot, type SlotEvent } from '../../supervisor/slot.ts';
import { defaultPolicy, type Handover, type RestartRule, type SlotSpec, type StartRule } from '../../supervisor/spec.ts';

interface Process {
  id: number;
  alive: boolean;
  /** Answers nothing any more: SIGSTOP, endless loop. */
  hung: boolean;
  /** Serves requests: at most one a slot, but for an overlap. */
  serving: boolean;
  /** No process of its group lives: seen by the supervisor. */
  proved: boolean;
}

interface Command {
  action: 'start' | 'stop' | 'restart';
  answered: boolean;
}

/** What one supervisor knows of a slot; gone with it. */
interface Runner {
  slot: Slot;
  main: Process | undefined;
  successor: Process | undefined;
  former: Process | undefined;
  dropping: Process | undefined;
  /** The stop ladder or the proof of death is under way for `main`. */
  going: boolean;
  timer: { dueAtMs: number; event: SlotEvent } | undefined;
  pending: Command | undefined;
  failures: number;
  /** When it began to back off last. */
  backoffAtMs: number;
}

/** Something that starts of a slot lack; a program file may be missing for a minute only. */
interface Lack {
  shortage: Shortage;
  /** Since when it has been back; undefined = it lasts. */
  goneAtMs: number | undefined;
}

interface Place {
  name: string;
  start: StartRule;
  handover: Handover;
  rule: RestartRule;
}

const places: readonly Place[] = [
  { name: 'dashboard', start: 'boot', handover: 'overlap', rule: 'always' },
  { name: 'gateway', start: 'gatewayState', handover: 'standby', rule: 'always' },
  { name: 'terminal', start: 'demand', handover: 'none', rule: 'always' },
  { name: 'bridge', start: 'boot', handover: 'none', rule: 'on-failure' },
];

const STARTUP_MS = 20_000;
/** A slot runs so soon after its shortage is gone. */
const BACK_MS = 10_000;

export class World {
  steps = 0;
  spawned = 0;
  claimed = 0;
  /** Every phase and event that met. */
  readonly met = new Set<string>();
  #nowMs = 1_000_000;
  #runners = new Map<string, Runner>();
  /** Every process there ever was and is not proved dead yet. */
  #processes = new Map<string, Process[]>(places.map(({ name }) => [name, []]));
  /** `run/slots.json`, as last written. */
  #records = new Map<string, Process>();
  #recordsDue = false;
  /** `gateway_state.json`. */
  #gatewayIntent: 'running' | 'stopped' = 'running';
  /** Content of `ESTOP`; undefined = no file. And until when it holds automation, by what was asked for. */
  #sentinel: string | undefined;
  #pausedUntilMs = 0;
  /** The operator's clock: jumps, unlike the supervisor's. */
  #wallMs = 1_700_000_000_000;
  #commands: Command[] = [];
  /** What lacks, whoever supervises. */
  #lacks = new Map<string, Lack>();
  #nextId = 1;

  constructor() {
    this.#boot();
  }

  /** One thing happens; `choice` says which. */
  step(choice: number): void {
    this.steps++;
    const place = places[choice % places.length]!;
    const rest = Math.floor(choice / places.length);
    const acts = this.#acts(place);
    acts[rest % acts.length]!(Math.floor(rest / acts.length));
    this.#check();
  }

  /** Operators leave; everything under way comes to its end. */
  settle(): void {
    for (const { name } of places) this.#command(name, 'stop', 1);
    for (let round = 0; round < 200 && this.#underWay(); round++) {
      for (const { name } of places) {
        this.#finishLadders(name);
        this.#check();
      }
    }
    for (const [name, runner] of this.#runners) {
      if (runner.slot.phase !== 'down') throw new Error(`${name} does not come to rest: ${runner.slot.phase}`);
      const left = this.#processes.get(name)!.filter((process) => !process.proved);
      if (left.length > 0) throw new Error(`${name}: ${left.length} process(es) never proved dead`);
    }
    const silent = this.#commands.filter(({ answered }) => !answered);
    if (silent.length > 0)
      throw new Error(`${silent.length} command(s) without an answer: ${silent.map(({ action }) => action).join(', ')}`);
  }

  // --- what can happen ---

  #acts(place: Place): ((argument: number) => void)[] {
    const { name } = place;
    const runner = this.#runner(name);
    return [
      () => this.#command(name, 'start', 0),
      (argument) => this.#command(name, 'stop', argument),
      (argument) => this.#command(name, 'restart', argument),
      () => this.#becomesReady(runner),
      () => this.#becomesReady(runner),
      (argument) => this.#dies(runner, runner.main, argument),
      (argument) => this.#dies(runner, [runner.successor, runner.former, runner.dropping][argument % 3], argument),
      () => this.#finishLadders(name),
      () => this.#finishLadders(name),
      (argument) => this.#pass(10 ** (argument % 7)),
      () => runner.timer && this.#pass(Math.max(0, runner.timer.dueAtMs - this.#nowMs)),
      (argument) => this.#hangs(runner, argument),
      () => this.#judged(name),
      () => this.#flushRecords(),
      () => this.#supervisorDies(),
      (argument) => this.#lacksSomething(name, argument),
      () => this.#comesBack(name),
      (argument) => this.#claims(argument),
      (argument) => this.#pauses(argument),
      (argument) => void (this.#wallMs += (argument % 2 === 0 ? 1 : -1) * 10 ** (argument % 9)),
    ];
  }

  #command(name: string, action: Command['action'], argument: number): void {
    const runner = this.#runner(name);
    if (name === 'gateway') this.#gatewayIntent = action === 'stop' ? 'stopped' : 'running';
    const command: Command = { action, answered: false };
    this.#commands.push(command);
    // As slotRunner: a slot that serves is started already; a newer command takes the place of an older one.
    const { phase } = runner.slot;
    if (action === 'start' && (phase === 'ready' || phase === 'relieving' || phase === 'retiring')) {
      command.answered = true;
      return;
    }
    if (runner.pending) runner.pending.answered = true;
    runner.pending = command;
    const drain = argument % 2 === 1;
    this.#feed(
      name,
      action === 'stop'
        ? { type: 'stop', drain }
        : action === 'restart'
          ? { type: 'restart', drain, atMs: this.#nowMs }
          : { type: 'start', atMs: this.#nowMs },
    );
  }

  #becomesReady(runner: Runner): void {
    const { successor, main, slot } = runner;
    const name = nameOf(this.#runners, runner);
    if (successor?.alive && !successor.hung) {
      if (slot.handover === 'overlap') successor.serving = true;
      return this.#feed(name, { type: 'successorReady', atMs: this.#nowMs });
    }
    if (!main?.alive || main.hung) return;
    if (slot.phase === 'starting') main.serving = true;
    if (slot.phase === 'down' || slot.phase === 'ending' || slot.phase === 'backoff' || slot.phase === 'parked') return;
    this.#feed(name, { type: 'attached', atMs: this.#nowMs });
  }

  #dies(runner: Runner, process: Process | undefined, argument: number): void {
    if (!process?.alive) return;
    process.alive = false;
    process.serving = false;
    const name = nameOf(this.#runners, runner);
    if (process === runner.successor) return this.#feed(name, { type: 'successorFailed' });
    if (process === runner.main) this.#ended(name, [0, 1, 1, 75, 78, null][argument % 6]!);
  }

  #ended(name: string, code: number | null): void {
    const { slot } = this.#runner(name);
    const readyMs = 'sinceMs' in slot && slot.phase !== 'starting' ? this.#nowMs - slot.sinceMs : undefined;
    this.#feed(name, {
      type: 'ended',
      end: {
        atMs: this.#nowMs,
        livedMs: readyMs ?? 10,
        readyMs,
        code,
        signature: String(code),
        permanent: code === 78,
        // What it dies of while something lacks, it dies of that; an exit by its own decision is another matter.
        shortage: code === 1 ? this.#lackOf(name) : undefined,
      },
    });
  }

  #lacksSomething(name: string, argument: number): void {
    const kinds = ['space', 'store', 'port', 'program'] as const;
    this.#lacks.set(name, { shortage: { kind: kinds[argument % kinds.length]! }, goneAtMs: undefined });
  }

  #comesBack(name: string): void {
    const lack = this.#lacks.get(name);
    if (lack) lack.goneAtMs ??= this.#nowMs;
  }

  #lackOf(name: string): Shortage | undefined {
    const lack = this.#lacks.get(name);
    return lack?.goneAtMs === undefined ? lack?.shortage : undefined;
  }

  #hangs(runner: Runner, argument: number): void {
    const process = argument % 2 === 0 ? runner.main : runner.successor;
    if (process?.alive) process.hung = true;
  }

  /** The pulse finds a silent worker. */
  #judged(name: string): void {
    const { main, slot } = this.#runner(name);
    if (main?.alive && main.hung && (slot.phase === 'ready' || slot.phase === 'relieving' || slot.phase === 'retiring')) {
      this.#feed(name, { type: 'hung' });
    }
  }

  /** Ladders, proofs and kills that are under way come to their ends, each in a step of its own. */
  #finishLadders(name: string): void {
    const runner = this.#runner(name);
    if (runner.dropping) {
      bury(runner.dropping);
      runner.dropping = undefined;
      return this.#feed(name, { type: 'successorGone' });
    }
    if (runner.former) {
      bury(runner.former);
      runner.former = undefined;
      return this.#feed(name, { type: 'formerGone' });
    }
    if (!runner.going) return;
    if (runner.main?.alive) {
      runner.main.alive = false;
      runner.main.serving = false;
      return this.#ended(name, null);
    }
    runner.going = false;
    if (runner.main) bury(runner.main);
    runner.main = undefined;
    this.#recordsDue = true;
    this.#feed(name, { type: 'gone', atMs: this.#nowMs });
  }

  #pass(ms: number): void {
    const until = this.#nowMs + ms;
    for (;;) {
      const [name, runner] = [...this.#runners].toSorted(([, a], [, b]) => dueOf(a) - dueOf(b))[0]!;
      if (dueOf(runner) > until) break;
      this.#nowMs = Math.max(this.#nowMs, dueOf(runner));
      this.#fireTimer(name);
    }
    this.#nowMs = until;
  }

  #fireTimer(name: string): void {
    const runner = this.#runner(name);
    if (!runner.timer) return;
    const { event, dueAtMs } = runner.timer;
    runner.timer = undefined;
    this.#nowMs = Math.max(this.#nowMs, dueAtMs);
    // As slotRunner: the cause of a shortage is checked before a start.
    const waits = runner.slot.phase === 'backoff' ? runner.slot.waits : undefined;
    if (waits && this.#lackOf(name)?.kind === waits.shortage.kind) return this.#feed(name, { type: 'stillShort', atMs: this.#nowMs });
    this.#feed(name, 'atMs' in event ? { ...event, atMs: this.#nowMs } : event);
  }

  /** `agent pause` in all its forms, a torn file, and `agent resume`. */
  #pauses(argument: number): void {
    const ttlMs = 10 ** (argument % 8);
    const expires_at = new Date(this.#wallMs + ttlMs).toISOString();
    const forms: [string | undefined, number][] = [
      [undefined, 0],
      ['', Number.POSITIVE_INFINITY],
      ['{"reason": "torn', Number.POSITIVE_INFINITY],
      ['{"scope": []}', Number.POSITIVE_INFINITY],
      ['{"scope": ["gatewy"]}', Number.POSITIVE_INFINITY],
      [JSON.stringify({ scope: ['gateway'], expires_at }), this.#wallMs + ttlMs],
      ['{"scope": ["cron"]}', 0],
    ];
    [this.#sentinel, this.#pausedUntilMs] = forms[argument % forms.length]!;
  }

  /** A unit of new automation: the sentinel is read at the moment of the claim, whatever was known before. */
  #claims(argument: number): void {
    const { main } = this.#runner(argument % 2 === 0 ? 'gateway' : 'dashboard');
    const found = this.#sentinel === undefined ? undefined : parseSentinel('ESTOP', this.#sentinel, this.#wallMs);
    const taken = main?.serving === true && !(found && holds(found, 'gateway'));
    if (taken && this.#wallMs < this.#pausedUntilMs) throw new Error(`work was claimed although paused: ${this.#sentinel}`);
    if (taken) this.claimed++;
  }

  #flushRecords(): void {
    if (!this.#recordsDue) return;
    this.#recordsDue = false;
    this.#records = new Map([...this.#runners].flatMap(([name, { main }]) => (main ? [[name, main] as const] : [])));
  }

  /** SIGKILL of the supervisor at any point, and a new one that finds what is left. */
  #supervisorDies(): void {
    for (const runner of this.#runners.values()) if (runner.pending) runner.pending.answered = true;
    this.#boot();
  }

  #boot(): void {
    this.#runners = new Map(places.map((place) => [place.name, this.#newRunner(place)]));
    for (const { name } of places) {
      const known = this.#records.get(name);
      // Marks find what is on no record; it is killed before anything is started.
      for (const process of this.#processes.get(name)!) if (process !== known || !process.alive) bury(process);
      this.#processes.set(name, known?.alive ? [known] : []);
      if (known?.alive) {
        this.#runner(name).main = known;
        this.#feed(name, { type: 'found', atMs: this.#nowMs });
      }
    }
    const intent = { only: undefined, mcpWanted: false, gatewayWanted: () => this.#gatewayIntent === 'running' };
    for (const place of places) {
      const { main } = this.#runner(place.name);
      const wanted = isWanted({ slot: place.name, start: place.start } as SlotSpec, intent);
      if (wanted || (main && place.start === 'demand')) this.#feed(place.name, { type: 'start', atMs: this.#nowMs });
      else if (main) this.#feed(place.name, { type: 'stop', drain: true });
    }
  }

  #newRunner({ start, handover, rule }: Place): Runner {
    return {
      slot: newSlot(start === 'demand' ? 'demand' : 'down', { policy: defaultPolicy, handover, rule }),
      main: undefined,
      successor: undefined,
      former: undefined,
      dropping: undefined,
      going: false,
      timer: undefined,
      pending: undefined,
      failures: 0,
      backoffAtMs: 0,
    };
  }

  // --- the table and its effects ---

  #feed(name: string, event: SlotEvent): void {
    const runner = this.#runner(name);
    // As slotRunner: a slot is gone once nothing is left beside it either.
    if (event.type === 'gone' && (runner.dropping || runner.former)) {
      runner.going = true;
      return;
    }
    this.met.add(`${runner.slot.phase} ${event.type}`);
    const before = runner.slot;
    const { state, effects } = nextSlot(before, event);
    runner.slot = state;
    if (before.phase !== state.phase) runner.backoffAtMs = this.#nowMs;
    if (event.type === 'ended' && state.phase === 'ending') runner.failures++;
    if (event.type === 'gone') checkDecision(before, state);
    for (const effect of effects) this.#carryOut(name, runner, effect);
    const answer = runner.pending && verdict(runner.pending.action, runner.slot, event, runner.failures);
    if (answer) {
      if (answer.ok && runner.pending!.action !== 'stop' && !runner.main?.serving && !runner.main?.hung)
        throw new Error(`${name}: success told before it serves`);
      runner.pending!.answered = true;
      runner.pending = undefined;
    }
  }

  #carryOut(name: string, runner: Runner, effect: Effect): void {
    const atMs = this.#nowMs;
    switch (effect.type) {
      case 'spawn':
        if (runner.main && !runner.main.proved) throw new Error(`${name}: a second incarnation beside one that is not proved dead`);
        if (runner.slot.desired === 'down') throw new Error(`${name}: spawned although intent says stopped`);
        runner.main = this.#spawn(name);
        return;
      case 'spawnSuccessor':
        if (runner.successor || runner.dropping || runner.former) throw new Error(`${name}: a third process`);
        runner.successor = this.#spawn(name);
        return;
      case 'armStartup':
      case 'armAdoption':
        runner.timer = { dueAtMs: atMs + STARTUP_MS, event: { type: 'hung' } };
        return;
      case 'armSuccessor':
        runner.timer = { dueAtMs: atMs + STARTUP_MS, event: { type: 'successorFailed' } };
        return;
      case 'armDue':
        if (effect.ms > 900_000) throw new Error(`${name}: waits ${effect.ms} ms`);
        if (runner.slot.phase === 'backoff' && effect.ms > 60_000) throw new Error(`${name}: backs off ${effect.ms} ms`);
        runner.timer = { dueAtMs: atMs + effect.ms, event: { type: 'due', atMs } };
        return;
      case 'disarm':
        runner.timer = undefined;
        return;
      case 'stopProcess':
      case 'proveGone':
        runner.going = true;
        return;
      case 'skipDrain':
        // The ladder under way ends sooner; when it ends is the tape's affair.
        return;
      case 'killProcess':
        if (!runner.main?.alive) return;
        runner.main.alive = false;
        runner.main.serving = false;
        return this.#ended(name, null);
      case 'dropSuccessor':
        if (!runner.successor) return;
        runner.dropping = runner.successor;
        runner.dropping.serving = false;
        runner.successor = undefined;
        return;
      case 'promote':
        runner.former = runner.main;
        runner.main = runner.successor;
        runner.successor = undefined;
        this.#recordsDue = true;
        return;
      case 'activate':
        if (runner.main && !runner.main.proved) throw new Error(`${name}: a successor serves beside the one before it`);
        runner.main = runner.successor;
        runner.successor = undefined;
        this.#recordsDue = true;
        // It may have died while it waited: then it ends now.
        if (runner.main && !runner.main.alive) throw new Error(`${name}: a dead successor was called up`);
        return;
      case 'killFormer':
        if (runner.former) runner.former.alive = false;
        return;
    }
  }

  #spawn(name: string): Process {
    const process: Process = { id: this.#nextId++, alive: true, hung: false, serving: false, proved: false };
    this.#processes.get(name)!.push(process);
    this.spawned++;
    this.#recordsDue = true;
    return process;
  }

  // --- invariants ---

  #check(): void {
    for (const [name, runner] of this.#runners) {
      const { slot, main, successor, former, dropping, timer, going } = runner;
      const all = this.#processes.get(name)!;
      const alive = all.filter((process) => process.alive);
      const serving = alive.filter((process) => process.serving);
      const mayBeTwo = slot.phase === 'relieving' || slot.phase === 'retiring';
      if (serving.length > (mayBeTwo && slot.handover === 'overlap' ? 2 : 1))
        throw new Error(`${name}: ${serving.length} serve in ${slot.phase}`);
      if (alive.length > 2) throw new Error(`${name}: ${alive.length} processes live`);
      for (const process of all) {
        if (process.proved || [main, successor, former, dropping].includes(process)) continue;
        throw new Error(`${name}: process ${process.id} is nobody's`);
      }
      const resting = slot.phase === 'down' || slot.phase === 'backoff' || slot.phase === 'parked';
      if (resting && alive.length > 0) throw new Error(`${name}: ${slot.phase} with a process`);
      if ((slot.phase === 'backoff' || slot.phase === 'parked') && slot.desired === 'down')
        throw new Error(`${name}: ${slot.phase} although not wanted`);
      const moving = going || timer || former || dropping || main?.alive || slot.phase === 'down';
      if (!moving) throw new Error(`${name}: stuck in ${slot.phase}`);
      this.#checkShortage(name, runner);
      if (slot.phase === 'down' && runner.pending) throw new Error(`${name}: down, and a ${runner.pending.action} still waits`);
      this.#processes.set(
        name,
        all.filter((process) => !process.proved),
      );
    }
  }

  #checkShortage(name: string, { slot, backoffAtMs }: Runner): void {
    if (slot.phase !== 'backoff' || !slot.waits) return;
    const { goneAtMs = this.#nowMs, shortage } = this.#lacks.get(name)!;
    if (shortage.kind === slot.waits.shortage.kind && this.#nowMs - Math.max(goneAtMs, backoffAtMs) > BACK_MS)
      throw new Error(`${name}: waits although its shortage is gone for ${this.#nowMs - goneAtMs} ms`);
    const waitedMs = this.#nowMs - Math.max(slot.waits.sinceMs, backoffAtMs);
    if (slot.waits.shortage.kind === 'program' && waitedMs > slot.policy.programMissingMs + BACK_MS)
      throw new Error(`${name}: waits for a missing program for ${waitedMs} ms`);
  }

  #underWay(): boolean {
    return [...this.#runners.values()].some(({ slot }) => slot.phase !== 'down');
  }

  #runner(name: string): Runner {
    return this.#runners.get(name)!;
  }
}

/** Contract §4, Restart policy, as far as it holds without counting: a bad configuration parks, a start that never came up waits. */
function checkDecision(before: Slot, after: Slot): void {
  if (before.phase !== 'ending' || before.rule !== 'always') return;
  const { code, readyMs, shortage } = before.end;
  if (shortage && shortage.kind !== 'program' && after.phase !== 'backoff')
    throw new Error(`lack of ${shortage.kind} led to ${after.phase}`);
  if (code === 78 && after.phase !== 'parked') throw new Error(`exit 78 led to ${after.phase}`);
  if (code !== 78 && (readyMs ?? 0) < 1_000 && after.phase !== 'backoff' && after.phase !== 'parked')
    throw new Error(`a failed start led to ${after.phase}`);
}

function bury(process: Process): void {
  process.alive = false;
  process.serving = false;
  process.proved = true;
}

const dueOf = (runner: Runner): number => runner.timer?.dueAtMs ?? Number.POSITIVE_INFINITY;

const nameOf = (runners: ReadonlyMap<string, Runner>, runner: Runner): string => [...runners].find(([, value]) => value === runner)![0];
