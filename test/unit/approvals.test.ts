import t from 'tap';
import { createOwner, type Asker, type Choice, type OwnerParts } from '../../agent/approvals/owner.ts';
import type { ApprovalPolicy, Unanswered } from '../../agent/approvals/policy.ts';
import { isPlainlyHarmless } from '../../agent/approvals/smart.ts';
import type { Danger, Model, ModelChunk, ToolRun } from '../../agent/ports.ts';
import { startGuard } from '../../agent/toolGuard.ts';
import type { AgentError } from '../../base/errors.ts';
import { virtualClock } from '../harness/virtualClock.ts';

const danger: Danger = { command: 'rm -r x', reasons: ['rm -r deletes folders'], rule: 'rm -r', lasting: true };
const blocked: Danger = { command: 'rm -rf /', reasons: ['it deletes the root'], blocked: true };
const onlyOnce: Danger = { command: '$X', reasons: ['which command runs is known only then'] };
const run: ToolRun = { callId: 'c', signal: new AbortController().signal, progress() {} };

interface Given {
  policy?: Partial<ApprovalPolicy>;
  danger?: Danger;
  answer?: { choice: Choice } | { unanswered: Unanswered };
  allowed?: string[];
  harmless?: boolean;
  onTimeout?: OwnerParts['onTimeout'];
}

/** What came of one call: the text for the model (undefined = it may run), and what happened on the way. */
async function permit({
  policy = {},
  danger: found = danger,
  answer = { choice: 'deny' },
  allowed = [],
  harmless = false,
  onTimeout = 'deny',
}: Given) {
  const asked: Choice[][] = [];
  const kept: string[] = [];
  const halted: string[] = [];
  const asker: Asker = {
    approval: async ({ choices }) => {
      asked.push([...choices]);
      return answer;
    },
    clarify: async () => ({ answers: { q1: 'yes' } }),
  };
  const owner = createOwner({
    policy: { mode: 'manual', ...policy },
    rules: { has: (_tool, rule) => allowed.includes(rule), add: (_tool, rule, lasts) => void kept.push(`${lasts} ${rule}`) },
    asker,
    harmless: async () => harmless,
    onTimeout,
    halt: (reason: AgentError) => void halted.push(reason.code),
  });
  const result = await owner.permit({ id: 'c', name: 'terminal', args: {} }, found, run);
  return { text: result?.text, asked: asked.length, choices: asked[0], kept, halted, owner };
}

const cron = (decision: 'deny' | 'approve') => ({
  unattended: { decision, setting: 'approvals.cron_mode', why: 'nobody can be asked in a scheduled job' },
});

const table: { name: string; given: Given; want: { text?: RegExp | undefined; asked: number; kept?: string[]; halted?: string[] } }[] = [
  { name: 'allowed once', given: { answer: { choice: 'once' } }, want: { asked: 1 } },
  { name: 'allowed for the session', given: { answer: { choice: 'session' } }, want: { asked: 1, kept: ['session rm -r'] } },
  { name: 'allowed for good', given: { answer: { choice: 'always' } }, want: { asked: 1, kept: ['always rm -r'] } },
  {
    name: 'denied',
    given: {},
    want: { asked: 1, text: /^DENIED: the user denied this .*do not try to reach the same effect another way/ },
  },
  { name: 'what was allowed before', given: { allowed: ['rm -r'] }, want: { asked: 0 } },
  {
    name: 'what only begins like a rule',
    given: { allowed: ['rm -r'], danger: { ...danger, rule: 'rm -r x' } },
    want: { asked: 1, text: /DENIED/ },
  },
  { name: 'approvals are off', given: { policy: { mode: 'off' } }, want: { asked: 0 } },
  {
    name: 'off, and never allowed',
    given: { policy: { mode: 'off' }, danger: blocked },
    want: { asked: 0, text: /^BLOCKED: .*whatever the settings: it deletes the root/ },
  },
  {
    name: 'never allowed, though a rule says so',
    given: { danger: { ...blocked, rule: 'rm -r' }, allowed: ['rm -r'] },
    want: { asked: 0, text: /^BLOCKED/ },
  },
  { name: 'smart, plainly harmless', given: { policy: { mode: 'smart' }, harmless: true }, want: { asked: 0 } },
  { name: 'smart, in doubt', given: { policy: { mode: 'smart' }, answer: { choice: 'once' } }, want: { asked: 1 } },
  {
    name: 'smart never lets the blocklist pass',
    given: { policy: { mode: 'smart' }, harmless: true, danger: blocked },
    want: { asked: 0, text: /^BLOCKED/ },
  },
  { name: 'manual asks no model', given: { harmless: true, answer: { choice: 'once' } }, want: { asked: 1 } },
  {
    name: 'a scheduled job',
    given: { policy: cron('deny') },
    want: { asked: 0, text: /^NOT RUN: .*nobody can be asked in a scheduled job; approvals\.cron_mode is deny/ },
  },
  { name: 'a scheduled job whose owner allows it', given: { policy: cron('approve') }, want: { asked: 0 } },
  { name: 'a scheduled job, never allowed', given: { policy: cron('approve'), danger: blocked }, want: { asked: 0, text: /^BLOCKED/ } },
  { name: 'no answer', given: { answer: { unanswered: 'timeout' } }, want: { asked: 1, text: /^NOT RUN: .*nobody answered in time/ } },
  {
    name: 'no answer, and the turn is to end then',
    given: { answer: { unanswered: 'timeout' }, onTimeout: 'halt' },
    want: { asked: 1, text: /nobody answered/, halted: ['NOT_ANSWERED'] },
  },
  {
    name: 'an interrupt is no time-out',
    given: { answer: { unanswered: 'interrupted' }, onTimeout: 'halt' },
    want: { asked: 1, text: /interrupted/ },
  },
];

t.test('who decides on a dangerous call', async (t) => {
  for (const { name, given, want } of table) {
    const { text, asked, kept, halted } = await permit(given);
    t.match(
      { text: text ?? '', asked, kept, halted },
      { text: want.text ?? '', asked: want.asked, kept: want.kept ?? [], halted: want.halted ?? [] },
      name,
    );
    t.equal(text === undefined, want.text === undefined, `${name}: it ${want.text ? 'does not run' : 'runs'}`);
  }
});

t.test('what has no rule can be allowed once only, and for good only what may last', async (t) => {
  t.same((await permit({ danger: onlyOnce })).choices, ['once', 'deny']);
  t.same((await permit({ danger: { ...danger, lasting: false } })).choices, ['once', 'session', 'deny']);
  t.same((await permit({})).choices, ['once', 'session', 'always', 'deny']);
});

t.test('a question of the model reaches nobody where nobody is', async (t) => {
  const { owner } = await permit({ policy: cron('approve') });
  t.equal(await owner.clarify([{ qid: 'q1', question: 'Which?' }], run), undefined);
  const attended = (await permit({})).owner;
  t.same(await attended.clarify([{ qid: 'q1', question: 'Which?' }], run), { q1: 'yes' });
});

/** A model that says this, or fails. */
function says(text: string | Error, scripted = false): () => Promise<Model> {
  async function* stream(): AsyncGenerator<ModelChunk> {
    if (text instanceof Error) throw text;
    yield { type: 'text', text };
    yield { type: 'finish', reason: 'stop', usage: null };
  }
  return async () => ({ provider: 'x', id: 'y', scripted, contextWindow: null, vision: false, effortFor: () => undefined, stream });
}

t.test('only the exact words of a reviewing model let a command pass', async (t) => {
  const ask = (open: () => Promise<Model | undefined>) => isPlainlyHarmless(open, { toolName: 'terminal', danger, cwd: '/' }, run.signal);
  t.equal(await ask(says('plainly harmless')), true);
  t.equal(await ask(says(' "Plainly harmless."\n')), true);
  for (const doubt of ['ask the owner', 'plainly harmless, I think', 'not plainly harmless', '', 'yes', 'x'.repeat(5_000)])
    t.equal(await ask(says(doubt)), false, doubt.slice(0, 40));
  t.equal(await ask(says(new Error('down'))), false, 'an error is doubt');
  t.equal(await ask(says('plainly harmless', true)), false, 'the rehearsal model reviews nothing');
  t.equal(await ask(async () => undefined), false);
});

t.test('the guard of a tool does not count the time that a person takes', async (t) => {
  const clock = virtualClock();
  const guard = startGuard('terminal', 1_000, clock);
  await clock.advance(600);
  const answer = Promise.withResolvers<string>();
  const waiting = guard.untimed(answer.promise);
  await clock.advance(1_000_000);
  t.equal(guard.signal.aborted, false, 'however long they take');
  answer.resolve('yes');
  t.equal(await waiting, 'yes');
  await clock.advance(399);
  t.equal(guard.signal.aborted, false);
  await clock.advance(1);
  t.match(guard.signal.reason, { code: 'TOOL_TIMEOUT', message: 'terminal took longer than 1 s and was stopped' });
});
