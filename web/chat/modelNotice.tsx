/** Says honestly what answers here: the scripted rehearsal model, or nothing yet, with the shortest ways out. */
import { Link } from '@tanstack/react-router';
import { sentence } from '../app/format.ts';
import { Command, Notice } from '../ui/notice.tsx';

export function ModelNotice({ scripted, warning }: { scripted: boolean; warning: string | null }) {
  if (scripted) return <Rehearsal because={warning} />;
  if (warning === null) return null;
  const { what, ways } = splitWarning(warning);
  return (
    <Notice tone="warn" title="No model answers yet">
      <p className="mt-1">{what}</p>
      <ul className="mt-2 grid gap-1.5">
        {ways.map((way) => (
          <li key={way} className="break-words">
            <Marked text={way} />
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Rehearsal({ because }: { because: string | null }) {
  return (
    <div className="rounded-xl bg-tint px-4 py-1.5 text-sm">
      <p className="flex min-h-6 flex-wrap items-center gap-x-2">
        <span className="font-medium">Rehearsal model: its answers are scripted.</span>
        <Link to="/models" className="text-accent underline underline-offset-3">
          Connect a real one
        </Link>
      </p>
      {because && <p className="text-soft">{because}</p>}
    </div>
  );
}

/** The service says `what — way, or way`. */
function splitWarning(text: string): { what: string; ways: string[] } {
  const [what = '', rest = ''] = text.split(' — ', 2);
  return {
    what: `${sentence(what)}.`,
    ways: rest
      .split(/, or /)
      .filter((way) => way !== '')
      .map(sentence),
  };
}

/** Commands and assignments in a sentence, set apart. */
function Marked({ text }: { text: string }) {
  const parts = text.split(/(agent config set \S+ (?:<[^>]+>|\S+)|[A-Z][A-Z0-9_]+=\S*|\/\S+\.env)/);
  return parts.map((part, index) => (index % 2 === 1 ? <Command key={index}>{part}</Command> : part));
}
