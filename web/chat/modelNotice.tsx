/** Says honestly what answers here: the scripted rehearsal model, or nothing yet, with the shortest ways out. */
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
    <details className="group rounded-xl bg-tint px-4 text-sm">
      <summary className="flex min-h-9 list-none flex-wrap items-center gap-x-2 py-1.5 [&::-webkit-details-marker]:hidden">
        <span className="font-medium">Rehearsal model: its answers are scripted.</span>
        <span className="text-accent underline underline-offset-3 group-open:hidden">Connect a real one</span>
      </summary>
      <div className="grid gap-2 pb-3 text-soft">
        {because && <p>{because}</p>}
        <p>
          Put <Command>OPENAI_API_KEY=…</Command> into the file <Command>.env</Command> of the agent's home, or name a local server:
        </p>
        <p className="grid gap-1">
          <Command>agent config set providers.local.base_url http://127.0.0.1:8080/v1</Command>
          <Command>agent config set model.default NAME</Command>
        </p>
      </div>
    </details>
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
