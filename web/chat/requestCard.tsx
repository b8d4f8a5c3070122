/** Questions of the agent to its owner: a command that needs approval, and questions with or without choices. */
import { MessageCircleQuestion, ShieldQuestion } from 'lucide-react';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { visibleLines } from '../../base/visibleText.ts';
import type { ApprovalChoice, ApprovalParams, ClarifyParams, ClarifyQuestion, OpenRequest } from '../../ipc/contracts/rpcRequests.ts';
import { duration, sentence } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { titleOfTool } from './toolNames.ts';

interface CardProps {
  request: OpenRequest;
  /** Answers; resolves to a sentence when it was not taken. */
  onAnswer: (result: Record<string, unknown>) => Promise<string | null>;
  /** The card is on the screen: its clock starts. */
  onShown: () => void;
}

export function RequestCard({ request, onAnswer, onShown }: CardProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const box = useShown(onShown);
  const answer = async (result: Record<string, unknown>) => {
    setBusy(true);
    setFailure(await onAnswer(result));
    setBusy(false);
  };
  const isApproval = request.method === 'approval';
  const Icon = isApproval ? ShieldQuestion : MessageCircleQuestion;
  return (
    <section
      ref={box}
      aria-label={isApproval ? 'Approval needed' : 'Question for you'}
      data-request={request.method}
      className="grid min-w-0 gap-3 rounded-xl border border-edge bg-surface px-4 py-3.5 text-sm shadow-raised"
    >
      <header className="flex items-center gap-2.5">
        <Icon size={17} className={isApproval ? 'text-warn' : 'text-accent'} />
        <h3 className="flex-1 font-semibold">
          {isApproval
            ? `${titleOfTool((request.params as unknown as ApprovalParams).tool_name)} asks for your approval`
            : 'The agent asks you'}
        </h3>
        <Remaining until={request.expires_at} />
      </header>
      {isApproval ? (
        <Approval params={request.params as unknown as ApprovalParams} busy={busy} onAnswer={answer} />
      ) : (
        <Clarify params={request.params as unknown as ClarifyParams} busy={busy} onAnswer={answer} />
      )}
      {failure && (
        <p role="alert" className="text-bad">
          {sentence(failure)}
        </p>
      )}
    </section>
  );
}

interface BodyProps<P> {
  params: P;
  busy: boolean;
  onAnswer: (result: Record<string, unknown>) => void;
}

const choiceWords: Record<ApprovalChoice, string> = {
  once: 'Allow once',
  session: 'For this chat',
  always: 'Always',
  deny: 'Deny',
};

function Approval({ params: { command, reasons, choices, rule }, busy, onAnswer }: BodyProps<ApprovalParams>) {
  return (
    <>
      <pre
        tabIndex={0}
        aria-label="What would run"
        className="max-h-60 overflow-auto rounded-lg bg-sunken px-3 py-2 font-mono text-[0.8125rem] leading-relaxed break-words whitespace-pre-wrap"
      >
        {visibleLines(command)}
      </pre>
      <ul className="grid gap-0.5 text-soft">
        {reasons.map((reason) => (
          <li key={reason}>{reason.startsWith('it ') ? sentence(reason) : reason}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        {choices.map((choice) => (
          <Button
            key={choice}
            weight={choice === 'once' ? 'strong' : 'plain'}
            className={choice === 'deny' ? 'sm:ml-auto' : ''}
            disabled={busy}
            title={rule !== undefined && (choice === 'session' || choice === 'always') ? `Allows exactly: ${rule}` : undefined}
            onClick={() => onAnswer({ choice })}
          >
            {choiceWords[choice]}
          </Button>
        ))}
      </div>
      {rule !== undefined && (
        <p className="text-xs break-words text-faint">
          {choices.includes('always') ? 'For this chat and Always allow' : 'For this chat allows'} exactly:{' '}
          <code>{visibleLines(rule)}</code>
        </p>
      )}
    </>
  );
}

interface Draft {
  picked: readonly string[];
  own: string;
}

const emptyDraft: Draft = { picked: [], own: '' };
const answerOf = ({ picked, own }: Draft): string | null => [...picked, ...(own.trim() ? [own.trim()] : [])].join(', ') || null;

function Clarify({ params: { questions }, busy, onAnswer }: BodyProps<ClarifyParams>) {
  const [drafts, setDrafts] = useState<Record<string, Draft>>({});
  const draftOf = (qid: string) => drafts[qid] ?? emptyDraft;
  const answers = Object.fromEntries(questions.map(({ qid }) => [qid, answerOf(draftOf(qid))]));
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ answers });
      }}
    >
      {questions.map((question) => (
        <Question
          key={question.qid}
          question={question}
          draft={draftOf(question.qid)}
          onChange={(draft) => setDrafts({ ...drafts, [question.qid]: draft })}
        />
      ))}
      <div className="flex flex-wrap gap-2">
        <Button weight="strong" type="submit" disabled={busy || Object.values(answers).every((answer) => answer === null)}>
          Answer
        </Button>
        <Button className="sm:ml-auto" disabled={busy} onClick={() => onAnswer({})}>
          Let the agent decide
        </Button>
      </div>
    </form>
  );
}

interface QuestionProps {
  question: ClarifyQuestion;
  draft: Draft;
  onChange: (draft: Draft) => void;
}

function Question({ question: { qid, question, choices = [], multi_select }, draft, onChange }: QuestionProps) {
  const toggle = (choice: string, on: boolean): Draft => {
    if (!multi_select) return { picked: on ? [choice] : [], own: '' };
    return { ...draft, picked: on ? [...draft.picked, choice] : draft.picked.filter((other) => other !== choice) };
  };
  return (
    <fieldset className="grid min-w-0 gap-2">
      <legend className="mb-1 font-medium">{question}</legend>
      {choices.map((choice) => (
        <label key={choice} className="flex items-center gap-2.5">
          <input
            type={multi_select ? 'checkbox' : 'radio'}
            name={qid}
            checked={draft.picked.includes(choice)}
            onChange={({ target }) => onChange(toggle(choice, target.checked))}
            className="size-4 accent-accent"
          />
          {choice}
        </label>
      ))}
      <input
        type="text"
        aria-label={choices.length > 0 ? `${question} In your own words` : question}
        placeholder={choices.length > 0 ? 'Or in your own words' : 'Your answer'}
        value={draft.own}
        onChange={({ target }) => onChange({ picked: multi_select ? draft.picked : [], own: target.value })}
        className="h-9 w-full rounded-lg border border-edge bg-paper px-3 placeholder:text-faint"
      />
    </fieldset>
  );
}

function Remaining({ until }: { until: string | null }): ReactNode {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (until === null) return;
    const tick = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(tick);
  }, [until]);
  if (until === null) return null;
  const leftMs = Math.max(0, Date.parse(until) - now);
  return <span className="text-xs text-faint tabular-nums">{duration(Math.floor(leftMs / 1_000) * 1_000).replace('.0', '')} left</span>;
}

/** Calls once a part of the element is in view of somebody. */
function useShown(onShown: () => void) {
  const box = useRef<HTMLElement>(null);
  const told = useRef(false);
  useEffect(() => {
    let inView = false;
    const look = () => {
      if (told.current || !inView || document.hidden) return;
      told.current = true;
      onShown();
    };
    const observer = new IntersectionObserver((entries) => {
      inView = entries.some(({ isIntersecting }) => isIntersecting);
      look();
    });
    observer.observe(box.current!);
    document.addEventListener('visibilitychange', look);
    return () => {
      observer.disconnect();
      document.removeEventListener('visibilitychange', look);
    };
  });
  return box;
}
