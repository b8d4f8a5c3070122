/** The findings for people: by group, one line each, and below a problem what to do. */
import { painter, type Style } from '../../base/paint.ts';
import { out } from '../terminal.ts';
import { count, groups, type Verdict } from './check.ts';
import type { DoctorRow } from './run.ts';

const marks: Record<Verdict, { mark: string; style: Style }> = {
  ok: { mark: 'ok', style: 'green' },
  warn: { mark: 'warn', style: 'yellow' },
  fail: { mark: 'FAIL', style: 'red' },
  skip: { mark: '-', style: 'dim' },
};

export function doctorView(rows: readonly DoctorRow[]): string {
  const paint = painter(out);
  const lines = groups.flatMap((group) => {
    const members = rows.filter((row) => row.group === group);
    if (members.length === 0) return [];
    const title = paint('bold', group[0]!.toUpperCase() + group.slice(1));
    return [title, ...members.flatMap((row) => rowLines(row)), ''];
  });
  return [...lines, summary(rows)].join('\n');

  function rowLines({ status, what, detail, fix, fixed, fixable }: DoctorRow): string[] {
    const { mark, style } = marks[status];
    const line = `  ${paint(style, mark.padEnd(4))}  ${what}${status === 'skip' ? paint('dim', `: ${detail}`) : `: ${detail}`}`;
    const advice =
      fix && (status === 'warn' || status === 'fail')
        ? [`        ${paint('cyan', '→')} ${fix}${fixable ? paint('dim', '  (agent doctor --fix does it)') : ''}`]
        : [];
    return [line, ...(fixed ? [`        ${paint('green', 'fixed')} ${fixed}`] : []), ...advice];
  }

  function summary(all: readonly DoctorRow[]): string {
    const of = (wanted: Verdict) => all.filter(({ status }) => status === wanted).length;
    const looked = all.length - of('skip');
    if (of('fail') + of('warn') === 0) return paint('green', `${count(looked, 'check')}, nothing to do.`);
    const parts = [
      of('fail') && paint('red', `${of('fail')} to put right`),
      of('warn') && paint('yellow', count(of('warn'), 'warning')),
    ].filter(Boolean);
    return `${count(looked, 'check')}: ${parts.join(', ')}.`;
  }
}
