/** The empty page of a chat: what can be done here, and the session that the first prompt makes. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { ArrowRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useConnection } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import { Composer } from './composer.tsx';
import { ModelNotice } from './modelNotice.tsx';
import { PendingPrompt, Working } from './messages.tsx';

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

export function NewChat() {
  const connection = useConnection();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [starting, setStarting] = useState<{ text: string; at: number } | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const setup = useSetup();

  const start = async (text: string) => {
    setStarting({ text, at: Date.now() });
    setFailure(null);
    try {
      const { session_id } = await connection.callSafely('session.create', { source: 'api' });
      connection.session(session_id).submit(text);
      void queries.invalidateQueries({ queryKey: ['sessions'] });
      await navigate({ to: '/chat/$sessionId', params: { sessionId: session_id } });
    } catch (thrown) {
      setStarting(null);
      setFailure(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };

  return (
    <>
      <PlaceHeader title="New chat" />
      <main className="flex min-h-0 flex-1 flex-col">
        <div className="min-h-0 flex-1 overflow-y-auto">
          <div className="mx-auto flex min-h-full w-full max-w-3xl flex-col gap-6 px-4 py-6 md:px-6">
            {starting ? (
              <>
                <PendingPrompt text={starting.text} />
                <Working label="Starting the chat" since={starting.at} />
              </>
            ) : (
              <Welcome scripted={setup?.scripted ?? false} onPick={(prompt) => void start(prompt)} />
            )}
          </div>
        </div>
        <Composer
          draftKey="new"
          working={starting !== null}
          onSubmit={(text) => void start(text)}
          notice={setup && <ModelNotice scripted={setup.scripted} warning={setup.provider_configured ? null : setup.message} />}
          failure={failure}
        />
      </main>
    </>
  );
}

/** What stands ready to answer; asked again whenever the agent worker is new. */
function useSetup() {
  const connection = useConnection();
  const queries = useQueryClient();
  useEffect(
    () =>
      connection.onEvent(({ type }) => {
        if (type === 'gateway.ready' || type === 'setup.ready') void queries.invalidateQueries({ queryKey: ['setup'] });
      }),
    [connection, queries],
  );
  return useQuery({ queryKey: ['setup'], queryFn: () => connection.callSafely('setup.status', {}) }).data;
}

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
