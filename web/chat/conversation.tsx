/** One chat: its messages, what is under way, and the composer. */
import { Link, useRouterState } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useRef, useState, type RefObject } from 'react';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import { useConnection, useConnectionState, useSession } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import { failureOf, type Failed } from '../callError.ts';
import type { SessionLink } from '../sessionLink.ts';
import { Notice, WithCode } from '../ui/notice.tsx';
import { AgentAway } from './agentAway.tsx';
import { ChatTools } from './chatTools.tsx';
import { useCommand } from './commandRun.ts';
import { isCommand } from './completion.ts';
import { Composer, type ComposerHandle, type Submission } from './composer.tsx';
import { MessageList, type ListHandle } from './messageList.tsx';
import { rowsOf } from './messageRows.ts';
import type { RowActions } from './messages.tsx';
import { ModelNotice } from './modelNotice.tsx';
import { ModelPicker } from './modelPicker.tsx';
import { PlanPanel } from './planPanel.tsx';
import { QueuePanel } from './queuePanel.tsx';
import { PictureDialog } from './sentFiles.tsx';
import { useSessionActions } from './sessionActions.ts';
import type { Transcript } from './transcript.ts';

export function Conversation({ id }: { id: string }) {
  const { link, state } = useSession(id);
  const { phase } = useConnectionState();
  const composer = useRef<ComposerHandle>(null);
  const list = useRef<ListHandle>(null);
  const [sent, setSent] = useState(0);
  const { transcript, failure } = state;
  // Of a chat that cannot be shown, what was on its way to it still is.
  const rows = useMemo(() => rowsOf(failure ? { ...state, transcript: null } : state, phase === 'ready'), [state, failure, phase]);
  const working = rows.at(-1)?.kind === 'work';
  const [picture, setPicture] = useState<Attachment | null>(null);
  const actions = useRowActions(link, composer, setPicture);
  const submit = useSubmit(link, failure, () => setSent((count) => count + 1));
  const older = useCallback(() => void link.loadOlder(), [link]);
  useEscape(working, () => void link.interrupt());
  useLinkedMessage(link, list, transcript);
  const info = transcript?.info;

  return (
    <>
      <PlaceHeader title={info?.title ?? (transcript || failure ? 'Chat' : ' ')}>
        {transcript && (
          <ChatTools
            id={id}
            info={transcript.info}
            working={working}
            compacting={transcript.compacting !== null}
            onUndone={(text) => composer.current?.put(text)}
          />
        )}
      </PlaceHeader>
      <main className="flex min-h-0 flex-1 flex-col">
        {failure && <Unshown failure={failure} />}
        {rows.length > 0 || (transcript && !failure) ? (
          <MessageList rows={rows} actions={actions} busy={working} followKey={sent} onNearStart={older} handle={list} />
        ) : failure ? (
          <div className="flex-1" />
        ) : (
          <Loading />
        )}
        <Composer
          ref={composer}
          draftKey={id}
          sessionId={id}
          working={working}
          lastPrompt={() => lastPromptOf(transcript)}
          onSubmit={submit}
          onStop={() => void link.interrupt()}
          tools={info && <ModelPicker model={info.model} effort={info.reasoning_effort} sessionId={id} />}
        >
          {transcript && transcript.plan.todos.length > 0 && <PlanPanel plan={transcript.plan} />}
          {transcript && transcript.queued.length > 0 && (
            <QueuePanel sessionId={id} queued={transcript.queued} working={transcript.turn !== null} />
          )}
          <AgentAway />
          {info && <ModelNotice scripted={info.scripted} warning={info.credential_warning} />}
        </Composer>
      </main>
      <PictureDialog sessionId={id} file={picture} onClose={() => setPicture(null)} />
    </>
  );
}

function Unshown({ failure: { message, fix } }: { failure: Failed }) {
  return (
    <div className="mx-auto w-full max-w-3xl px-4 py-6 md:px-6">
      <Notice
        tone="bad"
        title="This chat cannot be shown"
        actions={
          <Link to="/" className="self-center text-accent underline underline-offset-3">
            Begin a new one
          </Link>
        }
      >
        <p>
          <WithCode text={message} />
        </p>
        {fix && (
          <p className="text-soft">
            <WithCode text={fix} />
          </p>
        )}
      </Notice>
    </div>
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

/** The same object for the life of the link, as all it is made of: rows are drawn again for their own sake alone. */
function useRowActions(link: SessionLink, composer: RefObject<ComposerHandle | null>, openPicture: (file: Attachment) => void): RowActions {
  const { branch } = useSessionActions();
  const run = useCommand(link);
  return useMemo(
    () => ({
      sessionId: link.id,
      openPicture,
      resend: (text) => link.submit({ text }),
      settle: (key, what) => link.settle(key, what),
      answer: (request, result) => link.answer(request, result),
      shown: (request) => void link.shown(request),
      branch: (after) => void branch(link.id, after),
      editLast: () => composer.current?.editLast(),
      dispatch: (line) => void run(line),
      dropEcho: (key) => link.dropEcho(key),
    }),
    [link, composer, openPicture, branch, run],
  );
}

/** Slash commands are run, everything else is said; to a chat that is not there nothing is, and the words stay in their box. */
function useSubmit(link: SessionLink, gone: Failed | null, onSent: () => void): (submission: Submission) => Promise<Failed | null> {
  const connection = useConnection();
  const run = useCommand(link);
  return async ({ text, files, busy, replace, aside }) => {
    if (gone) return gone;
    onSent();
    if (aside) void link.askAside(text);
    else if (files.length === 0 && isCommand(text)) void run(text);
    else {
      try {
        if (replace) await connection.call('session.undo', { session_id: link.id });
      } catch (thrown) {
        return failureOf(thrown);
      }
      link.submit({ text, files, busy });
    }
    return null;
  };
}

/** `#m123` in the address: that message is put on the screen, older pages read until it is there. */
function useLinkedMessage(link: SessionLink, list: RefObject<ListHandle | null>, transcript: Transcript | null): void {
  const hash = useRouterState({ select: ({ location }) => location.hash });
  const wanted = Number(/^m(\d+)$/.exec(hash)?.[1] ?? 0);
  const [reached, setReached] = useState('');
  useEffect(() => {
    if (!wanted || !transcript || reached === hash) return;
    if (list.current?.reveal(wanted) || transcript.oldest.all) setReached(hash);
    else void link.loadOlder();
  }, [wanted, hash, reached, transcript, link, list]);
}

function useEscape(active: boolean, act: () => void): void {
  useEffect(() => {
    if (!active) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('[role=dialog], [role=menu]')) act();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}
