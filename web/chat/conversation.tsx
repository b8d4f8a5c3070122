/** One chat: its messages, what is under way, and the composer. */
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useConnection, useConnectionState, useSession } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import type { CallError } from '../callError.ts';
import type { SessionLink } from '../sessionLink.ts';
import { Notice } from '../ui/notice.tsx';
import { ChatTools } from './chatTools.tsx';
import { Composer, type ComposerHandle } from './composer.tsx';
import { MessageList, type ListHandle } from './messageList.tsx';
import type { RowActions } from './messages.tsx';
import { rowsOf } from './messageRows.ts';
import { ModelNotice } from './modelNotice.tsx';
import { PlanPanel } from './planPanel.tsx';
import { QueuePanel } from './queuePanel.tsx';
import { useSessionActions } from './sessionActions.ts';
import type { Transcript } from './transcript.ts';

export function Conversation({ id }: { id: string }) {
  const { link, state } = useSession(id);
  const { phase } = useConnectionState();
  const composer = useRef<ComposerHandle>(null);
  const list = useRef<ListHandle>(null);
  const [sent, setSent] = useState(0);
  const { transcript, failure } = state;
  const rows = useMemo(() => rowsOf(state, phase === 'ready'), [state, phase]);
  const working = rows.at(-1)?.kind === 'work';
  const actions = useRowActions(link, composer);
  const submit = useSubmit(link, () => setSent((count) => count + 1));
  const older = useCallback(() => void link.loadOlder(), [link]);
  useEscape(working, () => void link.interrupt());
  useLinkedMessage(link, list, transcript);

  return (
    <>
      <PlaceHeader title={transcript?.info.title ?? (transcript ? 'Chat' : ' ')}>
        {transcript && <ChatTools id={id} info={transcript.info} working={working} compacting={transcript.compacting !== null} onUndone={(text) => composer.current?.put(text)} />}
      </PlaceHeader>
      <main className="flex min-h-0 flex-1 flex-col">
        {failure ? (
          <div className="mx-auto w-full max-w-3xl flex-1 px-4 py-6 md:px-6">
            <Notice tone="bad" title="This chat cannot be shown">
              {failure.message}
            </Notice>
          </div>
        ) : transcript || rows.length > 0 ? (
          <MessageList rows={rows} actions={actions} busy={working} followKey={sent} onNearStart={older} handle={list} />
        ) : (
          <Loading />
        )}
        <Composer
          ref={composer}
          draftKey={id}
          sessionId={id}
          info={transcript?.info ?? null}
          working={working}
          lastPrompt={() => lastPromptOf(transcript)}
          onSubmit={submit}
          onStop={() => void link.interrupt()}
        >
          {transcript && transcript.plan.todos.length > 0 && <PlanPanel plan={transcript.plan} />}
          {transcript && transcript.queued.length > 0 && <QueuePanel sessionId={id} queued={transcript.queued} working={transcript.turn !== null} />}
          {transcript && <ModelNotice scripted={transcript.info.scripted} warning={transcript.info.credential_warning} />}
        </Composer>
      </main>
    </>
  );
}

/** In the shape of an exchange, so that nothing jumps when it comes. */
function Loading() {
  return (
    <div role="status" aria-label="Reading the chat" className="mx-auto grid w-full max-w-3xl flex-1 content-end gap-5 px-4 py-6 md:px-6">
      <div className="ml-auto h-11 w-2/5 animate-breathe rounded-2xl bg-sunken" />
      <div className="grid gap-2.5">
        {['w-11/12', 'w-full', 'w-3/4'].map((width) => (
          <div key={width} className={`h-4 animate-breathe rounded-full bg-sunken ${width}`} />
        ))}
      </div>
    </div>
  );
}

function lastPromptOf(transcript: Transcript | null): string | null {
  const last = transcript?.items.findLast(({ kind }) => kind === 'user');
  return last?.kind === 'user' ? last.text : null;
}

/** The same object for the life of the link: rows are drawn again for their own sake alone. */
function useRowActions(link: SessionLink, composer: React.RefObject<ComposerHandle | null>): RowActions {
  const { branch } = useSessionActions();
  const run = useCommand(link);
  const latest = useRef({ branch, run });
  latest.current = { branch, run };
  return useMemo(
    () => ({
      resend: (text) => link.submit({ text }),
      settle: (key, what) => link.settle(key, what),
      answer: (request, result) => link.answer(request, result),
      shown: (request) => void link.shown(request),
      branch: (after) => void latest.current.branch(link.id, after),
      editLast: () => composer.current?.editLast(),
      dispatch: (line) => void latest.current.run(line),
      dropEcho: (key) => link.dropEcho(key),
    }),
    [link, composer],
  );
}

/** Slash commands are run, everything else is said. */
function useSubmit(link: SessionLink, onSent: () => void) {
  const connection = useConnection();
  const run = useCommand(link);
  return async ({ text, files, busy, replace, aside }: import('./composer.tsx').Submission): Promise<string | null> => {
    onSent();
    if (aside) return void (await link.askAside(text)) ?? null;
    if (files.length === 0 && isCommand(text)) return void (await run(text)) ?? null;
    if (replace) {
      try {
        await connection.call('session.undo', { session_id: link.id, count: 1 });
      } catch (thrown) {
        return (thrown as CallError).message;
      }
    }
    link.submit({ text, files, busy });
    return null;
  };
}
