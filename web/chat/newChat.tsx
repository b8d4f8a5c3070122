/** The empty page of a chat: what can be done here, and the session that the first prompt makes. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ArrowRight } from 'lucide-react';
import { useState } from 'react';
import { useConnection } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import { failureOf, type Failed } from '../callError.ts';
import { AgentAway } from './agentAway.tsx';
import { isCommand } from './completion.ts';
import { Composer, type Submission } from './composer.tsx';
import { FirstRun } from './firstRun.tsx';
import type { ModelChoice } from './modelDialog.tsx';
import { ModelNotice } from './modelNotice.tsx';
import { ModelPicker } from './modelPicker.tsx';
import { Bubble } from './prompts.tsx';
import { useSetup } from './setup.ts';
import { WorkLine } from './workLine.tsx';

const rehearsals = [
  { prompt: 'run: uname -a', does: 'Calls the terminal tool' },
  { prompt: 'say: 120 words', does: 'Streams a longer answer' },
  { prompt: 'think: why do services fail at night?', does: 'Reasons before it answers' },
];
const openers = [
  { prompt: 'What can you do on this machine?', does: 'An overview of the tools' },
  { prompt: 'Show me the five largest files below my home directory.', does: 'Uses the terminal' },
  { prompt: 'Every weekday at 8:00, summarise the errors of the last day.', does: 'Makes a scheduled job' },
];

const plain = (text: string): Submission => ({ text, files: [], busy: undefined, aside: false, replace: false });

export function NewChat() {
  const connection = useConnection();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [starting, setStarting] = useState<{ text: string; at: number } | null>(null);
  const [choice, setChoice] = useState<ModelChoice>({});
  const setup = useSetup();

  const start = async ({ text, files }: Submission): Promise<Failed | null> => {
    setStarting({ text, at: Date.now() });
    try {
      const { session_id } = await connection.callSafely('session.create', { source: 'api', ...chosen(choice) });
      const link = connection.session(session_id);
      if (files.length === 0 && isCommand(text)) void link.command(text);
      else link.submit({ text, files });
      void queries.invalidateQueries({ queryKey: ['sessions'] });
      await navigate({ to: '/chat/$sessionId', params: { sessionId: session_id } });
      return null;
    } catch (thrown) {
      setStarting(null);
      return failureOf(thrown);
    }
  };

  const first = setup !== undefined && !setup.ready;
  return (
    <>
      <PlaceHeader title="New chat" />
      <main className="flex min-h-0 flex-1 flex-col">
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto flex min-h-full w-full max-w-3xl flex-col gap-6 px-4 py-6 md:px-6">
            {starting ? (
              <>
                <div className="flex justify-end">
                  <Bubble text={starting.text} faded />
                </div>
                <WorkLine label="Starting the chat" since={starting.at} />
              </>
            ) : first ? (
              <FirstRun />
            ) : (
              <Welcome scripted={setup?.scripted ?? false} onPick={(prompt) => void start(plain(prompt))} />
            )}
          </div>
        </div>
        <Composer
          draftKey="new"
          sessionId={null}
          working={starting !== null}
          onSubmit={start}
          tools={
            setup && (
              <ModelPicker
                model={choice.model ?? setup.model}
                effort={choice.effort ?? null}
                sessionId={null}
                onChoose={(more) => setChoice({ ...choice, ...more })}
              />
            )
          }
        >
          <AgentAway />
          {setup && !first && <ModelNotice scripted={setup.scripted} warning={setup.provider_configured ? null : setup.message} />}
        </Composer>
      </main>
    </>
  );
}

const chosen = ({ provider, model, effort }: ModelChoice) => ({
  ...(model !== undefined ? { model } : {}),
  ...(provider !== undefined ? { provider } : {}),
  ...(effort !== undefined && effort !== 'default' ? { reasoning_effort: effort } : {}),
});

function Welcome({ scripted, onPick }: { scripted: boolean; onPick: (prompt: string) => void }) {
  return (
    <div className="my-auto grid gap-8 py-8">
      <div className="grid gap-2">
        <h2 className="font-serif text-4xl leading-tight font-semibold tracking-tight text-balance">What shall we do?</h2>
        <p className="max-w-prose text-soft">
          Ask something, or hand over a piece of work. It goes on when you close this page, and when a part of the service restarts.
        </p>
      </div>
      <ul className="grid gap-2 sm:grid-cols-3">
        {(scripted ? rehearsals : openers).map(({ prompt, does }) => (
          <li key={prompt} className="grid">
            <button
              type="button"
              onClick={() => onPick(prompt)}
              className="group grid content-between gap-4 rounded-xl border border-line bg-surface p-4 text-left transition-colors hover:border-edge hover:bg-sunken"
            >
              <span className={scripted ? 'font-mono text-sm break-words' : 'text-[0.9375rem] font-medium'}>{prompt}</span>
              <span className="flex items-center justify-between gap-2 text-sm text-soft">
                {does}
                <ArrowRight
                  size={15}
                  className="shrink-0 text-faint transition-transform group-hover:translate-x-0.5 group-hover:text-accent"
                />
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
