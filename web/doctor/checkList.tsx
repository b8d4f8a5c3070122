/** The findings of the doctor by group: what is wrong first, each with what to do. */
import { age } from '../app/format.ts';
import { CopyButton } from '../ui/copyButton.tsx';
import { Badge, Command, WithCode, type Tone } from '../ui/notice.tsx';

/** A row of `agent doctor --json`. */
export interface CheckRow {
  id: string;
  group: string;
  status: 'ok' | 'warn' | 'fail' | 'skip';
  what: string;
  detail: string;
  fix: string | null;
  fixable: boolean;
  fixed: string | null;
}

const looks: Record<CheckRow['status'], { tone: Tone; word: string }> = {
  fail: { tone: 'bad', word: 'wrong' },
  warn: { tone: 'warn', word: 'look' },
  ok: { tone: 'good', word: 'fine' },
  skip: { tone: 'neutral', word: 'not asked' },
};
const order = ['fail', 'warn', 'ok', 'skip'] as const;

export function CheckList({ rows, at }: { rows: readonly CheckRow[]; at: string }) {
  const groups = [...Map.groupBy(rows, ({ group }) => group)];
  const of = (status: CheckRow['status']) => rows.filter((row) => row.status === status).length;
  const bad = of('fail') + of('warn');
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-5">
      <p role="status" className="text-sm">
        {bad === 0 ? `All is well: ${of('ok')} checks.` : `${of('fail')} to put right, ${of('warn')} to look at, ${of('ok')} fine.`}{' '}
        <span className="text-soft">Checked {age(at) === 'now' ? 'just now' : `${age(at)} ago`}.</span>
      </p>
      {groups.map(([group, members]) => (
        <section key={group} aria-label={group} className="grid min-w-0 gap-2">
          <h3 className="text-sm font-semibold capitalize">{group}</h3>
          <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
            {members
              .toSorted((a, b) => order.indexOf(a.status) - order.indexOf(b.status))
              .map((row) => (
                <Finding key={row.id} row={row} />
              ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Finding({ row: { id, status, what, detail, fix, fixed } }: { row: CheckRow }) {
  const { tone, word } = looks[status];
  return (
    <li data-check={id} data-status={status} className="grid gap-1 px-4 py-2.5 text-sm">
      <div className="flex flex-wrap items-start gap-x-3 gap-y-1">
        <span className="w-24 shrink-0">
          <Badge tone={tone}>{word}</Badge>
        </span>
        <p className="min-w-0 flex-1 basis-52 break-words">
          <span className="font-medium">
            <WithCode text={what} />
          </span>
          :{' '}
          <span className="text-soft">
            <WithCode text={detail} />
          </span>
        </p>
      </div>
      {fixed && <p className="text-good sm:pl-27">Put right: {fixed}</p>}
      {fix && (status === 'fail' || status === 'warn') && <Remedy text={fix} />}
    </li>
  );
}

/** A command in it is ready to be copied. */
function Remedy({ text }: { text: string }) {
  const command = /`([^`]+)`/.exec(text)?.[1] ?? (/^agent [a-z]/.test(text) ? text : undefined);
  return (
    <div className="flex flex-wrap items-center gap-2 sm:pl-27">
      <span className="min-w-0 break-words">{command === text ? <Command>{text}</Command> : <WithCode text={text} />}</span>
      {command && <CopyButton text={command} label={`Copy ${command}`} />}
    </div>
  );
}
