/** What the page knows of one session: the transcript, and what this tab has beside it. */
import type { Failed } from './callError.ts';
import type { Transcript } from './chat/transcript.ts';

/** What a busy session does with a prompt. */
export type BusyMode = 'queue' | 'interrupt' | 'steer';

/** A prompt on its way. It is shown until the transcript holds it. */
export interface Outgoing {
  key: string;
  text: string;
  /** Names of the files that go with it; their bytes are in memory alone. */
  files: readonly string[];
  busy: BusyMode | null;
  sentAt: number;
  /** Highest message that was known when it was written. */
  afterId: number;
  /** The service's number for it, once stored. */
  messageId: number | null;
  failure: Failed | null;
}

/** Output of a slash command, or a question asked beside the conversation that has no answer yet. Shown by this tab alone. */
export interface Echo {
  key: string;
  line: string;
  state: 'running' | 'done' | 'failed';
  text: string;
  choices: readonly { label: string; line: string }[];
  /** The message below which it stands; null = before all. */
  below: { kind: string; id: number } | null;
}

export interface SessionState {
  /** Null until the first snapshot. */
  transcript: Transcript | null;
  outgoing: readonly Outgoing[];
  echoes: readonly Echo[];
  /** The session cannot be shown. */
  failure: Failed | null;
}
