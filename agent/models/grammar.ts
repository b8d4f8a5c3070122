/**
 * What the rehearsal model understands: one table of forms, each with its sentence for the help text
 * and the steps it turns into. Pure: no clock, no chance, no output.
 */
import type { ToolCall } from '../ports.ts';

/** What the scripted model does, one after the other. */
export type Step =
  | { kind: 'say'; text: string }
  | { kind: 'think'; text: string }
  | { kind: 'wait'; seconds: number }
  | { kind: 'call'; name: string; args: ToolCall['args'] }
  | { kind: 'fail'; code: string };

interface Form {
  form: string;
  does: string;
  pattern: RegExp;
  steps(groups: string[]): Step[];
}

const call = (name: string, args: Record<string, unknown>): Step[] => [{ kind: 'call', name, args }];

/** Most words and seconds one prompt can ask for: a typing slip must not stream for a day. */
const WORDS_MAX = 20_000;
const SECONDS_MAX = 3_600;

const forms: readonly Form[] = [
  {
    form: 'run: <command>',
    does: 'runs the command with the terminal tool',
    pattern: /^run:\s*(.+)$/is,
    steps: ([command]) => call('terminal', { command }),
  },
  {
    form: 'read: <path>',
    does: 'reads a file with the read_file tool',
    pattern: /^read:\s*(\S.*)$/i,
    steps: ([path]) => call('read_file', { path }),
  },
  {
    form: 'remember: <text>',
    does: 'adds the text to the memory file',
    pattern: /^remember:\s*(.+)$/is,
    steps: ([content]) => call('memory', { action: 'add', content }),
  },
  {
    form: 'every <schedule>: <prompt>',
    does: 'makes a cron job (`every 10s: say: 5 words`, `every 0 9 * * *: …`)',
    pattern: /^every\s+(.+?):\s+(.+)$/is,
    steps: ([schedule, prompt]) => call('cronjob', { action: 'create', schedule: scheduleText(schedule!), prompt }),
  },
  {
    form: 'tool: <name> <json>',
    does: 'calls any tool with these arguments',
    pattern: /^tool:\s*(\S+)\s*(.*)$/is,
    steps: ([name, json]) => toolSteps(name!, json!),
  },
  {
    form: 'say: <n> words',
    does: 'streams that many words',
    pattern: /^say:\s*(\d+)\s*(?:words?)?$/i,
    steps: ([count]) => [{ kind: 'say', text: words(Math.min(Number(count), WORDS_MAX)) }],
  },
  {
    form: 'think: <text>',
    does: 'streams the text as reasoning, then a short answer',
    pattern: /^think:\s*(.+)$/is,
    steps: ([text]) => [
      { kind: 'think', text: text! },
      { kind: 'say', text: `I have thought about it. ${SCRIPTED}` },
    ],
  },
  {
    form: 'slow: <seconds>',
    does: 'answers slowly, for that long',
    pattern: /^slow:\s*(\d+(?:\.\d+)?)\s*s?$/i,
    steps: ([seconds]) => [
      { kind: 'say', text: 'Starting slowly.' },
      { kind: 'wait', seconds: Math.min(Number(seconds), SECONDS_MAX) },
      { kind: 'say', text: ' Done.' },
    ],
  },
  {
    form: 'fail: <code>',
    does: 'fails as a provider would (`fail: 429`, `fail: PROVIDER_CUT`)',
    pattern: /^fail:\s*(\S+)$/i,
    steps: ([code]) => [{ kind: 'fail', code: code! }],
  },
  {
    form: 'help',
    does: 'prints this list',
    pattern: /^help\??$/i,
    steps: () => [{ kind: 'say', text: grammarHelp() }],
  },
];

export const SCRIPTED = '(I am the scripted rehearsal model: no intelligence, no network. Say "help" for what I can do.)';

/** The table for people. */
export function grammarHelp(): string {
  const lines = forms.map(({ form, does }) => `- \`${form}\` ${does}`);
  return `${SCRIPTED.slice(1, SCRIPTED.indexOf(' Say'))} I understand:\n\n${lines.join('\n')}\n\nAnything else gets a short answer that repeats it.`;
}

/** Steps of a prompt; every text has some. */
export function parsePrompt(prompt: string): Step[] {
  const text = prompt.trim();
  for (const { pattern, steps } of forms) {
    const match = pattern.exec(text);
    if (match) return steps(match.slice(1).map((group) => group.trim()));
  }
  return [{ kind: 'say', text: `You said: "${shortened(text, 300)}". ${SCRIPTED}` }];
}

/** What is said after tools have run. */
export function afterTools(results: readonly { name: string; content: string; isError: boolean }[]): string {
  return results
    .map(({ name, content, isError }) => `${name} ${isError ? 'failed' : 'returned'}:\n${asWritten(shortened(content, 4_000))}`)
    .join('\n\n');
}

/** Lines stay lines and columns stay columns where answers are drawn as markdown. */
function asWritten(text: string): string {
  if (!text.trim().includes('\n')) return text;
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text.trimEnd()}\n${fence}`;
}

const VOCABULARY =
  'alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra tango'.split(' ');

const words = (count: number): string => Array.from({ length: count }, (_, index) => VOCABULARY[index % VOCABULARY.length]).join(' ');

/** `10s` means "every 10s"; cron fields and instants stand for themselves. */
const scheduleText = (text: string): string => (/^\d+(?:\.\d+)?\s*[a-z]+$/i.test(text) ? `every ${text}` : text);

function toolSteps(name: string, json: string): Step[] {
  try {
    return [{ kind: 'call', name, args: json === '' ? {} : (JSON.parse(json) as unknown) }];
  } catch (thrown) {
    return [{ kind: 'say', text: `The arguments of ${name} are not JSON: ${(thrown as Error).message}. ${SCRIPTED}` }];
  }
}

const shortened = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)}…` : text);
