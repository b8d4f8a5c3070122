/** How `agent why` looks: the sentence and the fix, then the evidence in sections; an empty section is left out. */
import { painter, type Paint } from '../base/paint.ts';
import { formatDuration } from '../base/time.ts';
import type { BlackBox, Evidence } from '../ipc/contracts/blackBox.ts';
import type { Why } from '../ipc/blackBoxes.ts';
import { printedLine, visibleText } from '../base/visibleText.ts';
import { ago, localTime, withLocalTimes } from './instants.ts';
import { out, table } from './terminal.ts';

/** Lines of output shown; `--json` has all that were kept. */
const LINES = 30;

export function whyText(why: Why, nowMs = Date.now(), paint: Paint = painter(out)): string {
  const { ends, last_exit, fix, sentence } = why;
  const box = ends[0];
  const head = [paint('bold', sentenceText(sentence, nowMs)), ...(fix && !sentence.includes(fix) ? [`Fix: ${visibleText(fix)}`] : [])];
  const when = last_exit ? [paint('dim', whenLine(why, nowMs))] : [];
  const evidence = box ? sectionsOf(box) : [];
  const list =
    ends.length > 1
      ? [
          section(
            'Ends on record',
            ends.map((end) => endLine(end, nowMs)),
          ),
        ]
      : [];
  return [[...head, ...when].join('\n'), ...list, ...evidence]
    .filter(Boolean)
    .map((text, index) => (index === 0 ? text : paintTitle(text, paint)))
    .join('\n\n');
}

/** Of every slot: one line each for those that ended abnormally or do not run, one for all others. */
export function overviewText(slots: readonly Omit<Why, 'tail' | 'ends'>[], nowMs = Date.now(), paint: Paint = painter(out)): string {
  const told = slots.filter(({ last_exit, state }) => last_exit !== null || state === 'parked' || state === 'backoff');
  const others = slots.filter((why) => !told.includes(why)).map(({ slot }) => slot);
  const rows = told.map(({ slot, state, sentence, fix, last_exit }) => [
    slot,
    paint(state === 'parked' ? 'red' : state === 'backoff' ? 'yellow' : 'dim', state ?? 'unknown'),
    last_exit ? ago(last_exit.at, nowMs) : '-',
    // What to do stands in the answer about the slot itself.
    sentenceText(
      sentence
        .replace(`${state}: `, '')
        .replace(` — ${fix}`, '')
        .replace(/\. Then: .*$/s, ''),
      nowMs,
    ),
  ]);
  return [
    ...(rows.length ? [table([['SLOT', 'STATE', 'ENDED', 'WHY'].map((title) => paint('dim', title)), ...rows]), ''] : []),
    ...(others.length ? [`No abnormal end on record: ${others.join(', ')}.`] : []),
    ...(rows.length ? [paint('dim', `agent why ${told[0]!.slot} shows the evidence; --receipts who started and stopped what.`)] : []),
  ].join('\n');
}

/** What a program or a stranger said in it steers no terminal. */
export const sentenceText = (sentence: string, nowMs: number): string => withLocalTimes(visibleText(sentence), nowMs);

function whenLine({ last_exit, times, first_at }: Why, nowMs: number): string {
  const often = times > 1 ? `, ${times} times on record, first ${localTime(first_at ?? '')}` : '';
  return `${localTime(last_exit!.at)} (${ago(last_exit!.at, nowMs)}${often})  signature ${last_exit!.signature}`;
}

const endLine = ({ last_exit }: BlackBox, nowMs: number): string =>
  `${localTime(last_exit.at)}  ${last_exit.signature}  ${last_exit.summary} (${ago(last_exit.at, nowMs)})`;

function sectionsOf(box: BlackBox): string[] {
  const { evidence } = box;
  return [
    section('Where its main loop stood', evidence ? stackLines(evidence) : []),
    section('What it was doing', doing(box)),
    section('Last lines it printed', box.tail.slice(-LINES)),
    section('Before the end', resourceLines(box)),
    section(
      'Signs of life',
      (box.liveness ?? []).map(({ at, word, why }) => `${localTime(at)}  ${word}${why ? `: it ${why}` : ''}`),
    ),
    section('What it held', evidence?.process ? processLines(evidence) : []),
    section('Around it', aroundLines(box)),
  ];
}

const section = (title: string, lines: string[]): string =>
  lines.length ? `${title}\n${lines.map((line) => `  ${printedLine(line)}`).join('\n')}` : '';

function paintTitle(text: string, paint: Paint): string {
  const end = text.indexOf('\n');
  return paint('bold', text.slice(0, end)) + text.slice(end);
}

const stackLines = ({ stack, stack_note }: Evidence): string[] =>
  stack.length ? stack.map((frame) => `at ${frame.function} (${frame.at})`) : stack_note ? [stack_note] : [];

function doing({ units = [], active_work, asked_by }: BlackBox): string[] {
  const more = active_work > units.length ? [`… ${active_work - units.length} more`] : [];
  const asked = asked_by ? [`${asked_by.action} asked by ${asked_by.actor} (${asked_by.cause}) was under way`] : [];
  return [...units, ...(units.length ? more : []), ...asked];
}

const BARS = '▁▂▃▄▅▆▇█';

/** The course of a figure in one line. */
function trend(values: (number | null)[]): string {
  const known = values.filter((value) => value !== null).slice(-40);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return known.map((value) => BARS[high === low ? 0 : Math.round(((value - low) / (high - low)) * (BARS.length - 1))]).join('');
}

function resourceLines({ samples = [] }: BlackBox): string[] {
  if (samples.length === 0) return [];
  const rows: { name: string; values: (number | null)[]; show: (value: number) => string }[] = [
    { name: 'memory', values: samples.map(({ rss_bytes }) => rss_bytes), show: (value) => `${Math.round(value / 1024 / 1024)} MiB` },
    { name: 'processor', values: samples.map(({ cpu_percent }) => cpu_percent), show: (value) => `${value} %` },
    { name: 'loop delay', values: samples.map(({ lag_ms }) => lag_ms), show: (value) => `${value} ms` },
    { name: 'descriptors', values: samples.map(({ fds }) => fds), show: String },
  ];
  const span = formatDuration(Date.parse(samples.at(-1)!.at) - Date.parse(samples[0]!.at));
  return rows.flatMap(({ name, values, show }) => {
    const known = values.filter((value) => value !== null);
    if (known.length === 0) return [];
    if (known.length === 1) return [`${name.padEnd(12)}${show(known[0]!)}`];
    return [`${name.padEnd(12)}${show(known[0]!)} → ${show(known.at(-1)!)}  ${trend(values)}  in ${span}`];
  });
}

function processLines({ process, resources }: Evidence): string[] {
  const { status, threads, files, group } = process!;
  const kinds = Object.entries(files.kinds).map(([kind, count]) => `${count} ${kind}`);
  const handles = Object.entries(resources ?? {}).map(([kind, count]) => `${count} ${kind}`);
  const main = threads[0];
  return [
    `state ${status.State ?? '?'}, ${status.VmRSS ?? '?'} resident, ${status.Threads ?? '?'} threads${main?.waits_in ? `, the main one waits in ${main.waits_in}` : ''}`,
    ...(handles.length ? [`handles: ${handles.join(', ')}`] : []),
    `${files.count} open files: ${kinds.join(', ')}`,
    ...group.map(({ pid, state, command }) => `child ${pid} ${state} ${command}`),
  ];
}

function aroundLines({ machine, code, version, settings, pid }: BlackBox): string[] {
  if (!machine) return [];
  const mebi = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  return [
    `process ${pid}, version ${version ?? '?'}, code ${code ?? '?'}${settings ? `, settings ${settings}` : ''}`,
    `${machine.os}, Node ${machine.node}, up ${formatDuration(machine.uptime_s * 1_000)}, load ${machine.load}`,
    `${mebi(machine.memory_free_bytes)} of ${mebi(machine.memory_total_bytes)} memory free${machine.oom_kills ? `, ${machine.oom_kills} kill(s) for lack of memory in its cgroup` : ''}`,
  ];
}
