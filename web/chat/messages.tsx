/** Messages as they are drawn: prompts, answers with their tools and reasoning, and what is under way. */
import { GitBranch, Pencil, RotateCcw } from 'lucide-react';
import { memo, type ReactNode } from 'react';
import { duration, sentence, tokens } from '../app/format.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { Command, Notice, WithCode } from '../ui/notice.tsx';
import { AsideCard, EchoCard, SummaryCard } from './asides.tsx';
import { Markdown } from './markdown.tsx';
import type { Row, Work } from './messageRows.ts';
import { Bubble, OutgoingPrompt } from './prompts.tsx';
import { useRemembered } from './remembered.ts';
import { RequestCard } from './requestCard.tsx';
import { SentFiles } from './sentFiles.tsx';
import { ToolCard } from './toolCard.tsx';
import type { AgentItem, Failure, Item } from './transcript.ts';
import { WorkLine } from './workLine.tsx';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import type { OpenRequest } from '../../ipc/contracts/rpcRequests.ts';

/** What a row can ask for. The same object over the life of a conversation. */
export interface RowActions {
  sessionId: string;
  resend(text: string): void;
  settle(key: string, what: 'retry' | 'discard'): void;
  answer(request: OpenRequest, result: Record<string, unknown>): Promise<string | null>;
  shown(request: OpenRequest): void;
  /** A new chat with the conversation up to there; `after` prompts stay behind. */
  branch(after: number): void;
  editLast(): void;
  dispatch(line: string): void;
  dropEcho(key: string): void;
  openPicture(file: Attachment): void;
}

/** A row is replaced when it changes, so it is drawn again only then. */
export const RowView = memo(
  function RowView({ row, actions, busy }: { row: Row; actions: RowActions; busy: boolean }) {
    switch (row.kind) {
      case 'beginning':
        return row.all ? (
          <p className="text-center text-xs text-faint">The beginning of this chat</p>
        ) : (
          <p role="status" className="text-center text-xs text-faint">
            Reading earlier messages…
          </p>
        );
      case 'item':
        return <ItemView {...row} actions={actions} busy={busy} />;
      case 'outgoing': {
        const { key } = row.prompt;
        return (
          <OutgoingPrompt
            prompt={row.prompt}
            onRetry={() => actions.settle(key, 'retry')}
            onDiscard={() => actions.settle(key, 'discard')}
          />
        );
      }
      case 'echo':
        return <EchoCard echo={row.echo} onPick={actions.dispatch} onClose={() => actions.dropEcho(row.echo.key)} />;
      case 'request':
        return (
          <RequestCard
            request={row.request}
            onAnswer={(result) => actions.answer(row.request, result)}
            onShown={() => actions.shown(row.request)}
          />
        );
      case 'work':
        return <Working {...row.work} />;
    }
  },
  (before, after) => before.actions === after.actions && before.busy === after.busy && sameRow(before.row, after.row),
);

function sameRow(a: Row, b: Row): boolean {
  if (a.kind === 'item' && b.kind === 'item') return a.item === b.item && a.prompt === b.prompt && a.after === b.after;
  if (a.kind === 'outgoing' && b.kind === 'outgoing') return a.prompt === b.prompt;
  if (a.kind === 'request' && b.kind === 'request') return a.request === b.request;
  if (a.kind === 'echo' && b.kind === 'echo') return a.echo === b.echo;
  if (a.kind === 'beginning' && b.kind === 'beginning') return a.all === b.all;
  return false;
}

interface ItemProps {
  item: Item;
  prompt: string | null;
  after: number;
  actions: RowActions;
  busy: boolean;
}

function ItemView({ item, prompt, after, actions, busy }: ItemProps) {
  switch (item.kind) {
    case 'user':
      return (
        <div className="group flex items-end justify-end gap-1">
          <Tools>
            {after === 0 && !busy && (
              <IconButton label="Edit this message and ask again" onClick={actions.editLast}>
                <Pencil size={14} />
              </IconButton>
            )}
            <CopyButton text={item.text} label="Copy the message" />
          </Tools>
          <Bubble text={item.text}>
            {item.attachments.length > 0 && (
              <SentFiles sessionId={actions.sessionId} files={item.attachments} onOpen={actions.openPicture} />
            )}
          </Bubble>
        </div>
      );
    case 'notice':
      return (
        <p className={`text-center text-sm ${item.level === 'error' ? 'text-bad' : item.level === 'warn' ? 'text-warn' : 'text-faint'}`}>
          {item.text}
        </p>
      );
    case 'summary':
      return <SummaryCard text={item.text} />;
    case 'aside':
      return <AsideCard item={item} />;
    case 'agent':
      return <Answer item={item} prompt={prompt} after={after} actions={actions} />;
  }
}

/** Shown when the message is pointed at or holds the focus; always where there is no pointer. Takes its room at all times. */
function Tools({ children }: { children: ReactNode }) {
  return (
    <div className="flex h-8 shrink-0 items-center gap-1 text-xs text-faint pointer-fine:opacity-0 pointer-fine:transition-opacity pointer-fine:group-focus-within:opacity-100 pointer-fine:group-hover:opacity-100">
      {children}
    </div>
  );
}

function Answer({ item, prompt, after, actions }: Omit<ItemProps, 'item' | 'busy'> & { item: AgentItem }) {
  const { text, reasoning, tools, end, streaming } = item;
  return (
    <article className="group grid min-w-0 grid-cols-[minmax(0,1fr)] gap-3" data-role="assistant" aria-busy={streaming}>
      {reasoning && <Reasoning id={item.id} text={reasoning} live={streaming && !text && tools.length === 0} />}
      {text && <Markdown text={text} growing={streaming} />}
      {tools.map((tool) => (
        <ToolCard key={tool.id} tool={tool} messageId={item.id} />
      ))}
      {end && end.status !== 'complete' && (
        <Ending status={end.status} failure={end.failure} onRetry={prompt === null ? undefined : () => actions.resend(prompt)} />
      )}
      {end && text && <Footer item={item} after={after} onBranch={actions.branch} />}
    </article>
  );
}

/** Live it shows its last lines by itself; afterwards it is folded. */
function Reasoning({ id, text, live }: { id: number; text: string; live: boolean }) {
  const [open, setOpen] = useRemembered(`reasoning${id}`);
  if (live && open === null) {
    return (
      <div className="rounded-xl border border-line text-sm" data-reasoning="live">
        <button type="button" onClick={() => setOpen(true)} className="w-full animate-breathe px-4 py-2 text-left text-soft">
          Thinking
        </button>
        <div className="flex h-20 flex-col justify-end overflow-hidden border-t border-line px-4 py-2 whitespace-pre-wrap text-faint">
          <div>{text.slice(-LIVE_CHARS)}</div>
        </div>
      </div>
    );
  }
  return (
    <details
      open={open ?? false}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      className="rounded-xl border border-line text-sm"
      data-reasoning="folded"
    >
      <summary className="px-4 py-2 text-soft marker:text-faint">{live ? 'Thinking' : 'What it thought'}</summary>
      <div className="border-t border-line px-4 py-3 break-words whitespace-pre-wrap text-soft">{text}</div>
    </details>
  );
}

/** As much as fits into the lines that are shown while it thinks. */
const LIVE_CHARS = 400;

interface EndingProps {
  status: 'interrupted' | 'error';
  failure: Failure | null;
  onRetry: (() => void) | undefined;
}

function Ending({ status, failure, onRetry }: EndingProps) {
  if (status === 'interrupted' && !failure) return <p className="text-sm text-faint">Stopped here.</p>;
  return (
    <Notice
      tone={status === 'error' ? 'bad' : 'warn'}
      title={status === 'error' ? 'This answer failed' : 'This answer was cut off'}
      actions={
        onRetry && (
          <Button icon={<RotateCcw size={14} />} onClick={onRetry}>
            Send again
          </Button>
        )
      }
    >
      {failure && (
        <p>
          <WithCode text={sentence(failure.message)} />
        </p>
      )}
      {failure?.fix && (
        <p className="mt-1 text-soft">
          <WithCode text={sentence(failure.fix)} />
        </p>
      )}
      {failure && (
        <p className="mt-1">
          <Command>{failure.code}</Command>
        </p>
      )}
    </Notice>
  );
}

function Footer({ item: { text, end }, after, onBranch }: { item: AgentItem; after: number; onBranch: (after: number) => void }) {
  const used = end?.usage;
  return (
    <div className="-mt-2 -mb-3 -ml-2">
      <Tools>
        <CopyButton text={text} label="Copy the answer" />
        <IconButton label="Branch: a new chat that goes on from here" onClick={() => onBranch(after)}>
          <GitBranch size={14} />
        </IconButton>
        {end?.durationMs != null && <span className="ml-1">{duration(end.durationMs)}</span>}
        {used && used.input + used.output > 0 && (
          <span>
            · {tokens(used.input)} in, {tokens(used.output)} out
          </span>
        )}
      </Tools>
    </div>
  );
}

function Working({ label, since, helpers }: Work) {
  return (
    <div className="grid gap-1">
      <WorkLine label={label} since={since} />
      {helpers.length > 0 && (
        <ul aria-label="Helpers at work" className="grid gap-1 pl-8 text-sm text-faint">
          {helpers.map(({ id, goal, doing }) => (
            <li key={id} className="flex gap-3">
              <span className="min-w-0 truncate">{goal}</span>
              {doing && <span className="shrink-0">{doing.split('\n').at(-1)!.slice(0, 60)}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
