/**
 * Questions of the agent to the people of a chat: asked in the chat whose message its turn answers, answered by
 * `/approve`, `/deny` or plain words of somebody who may write there. Kept on disk, so that a restart between
 * question and answer loses neither. Answers pass the line of messages: the turn that asked holds it.
 */
import type { Client } from '../../ipc/client.ts';
import type { conversationAsked } from '../../ipc/contracts/gateway.ts';
import { ApprovalParams, ClarifyParams, requestAnswer, requestShown } from '../../ipc/contracts/rpcRequests.ts';
import { keepAsking } from '../../ipc/keepAsking.ts';
import type { ParamsOf } from '../../ipc/method.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { messageOf } from '../../base/errors.ts';
import type { Delivery } from './delivery.ts';
import type { InboxRow } from './inbox.ts';
import { sentenceOf } from './replies.ts';
import type { QuestionRow } from './questionStore.ts';
import type { GatewayStore } from './store.ts';

export interface Questions {
  /** False when nobody can be asked in that conversation. The same request is asked once. */
  ask(asked: ParamsOf<typeof conversationAsked>): boolean;
  /** Answered elsewhere, run out of time, or its turn is over. False = not known here. */
  settled(requestId: string, reason: string): boolean;
  /** A text that belongs to an open question, not into the line. */
  isAnswer(sessionKey: string, text: string): boolean;
  /** What to say to an answer; undefined = no question is open any more, and the text is an ordinary message. Never throws. */
  answer(row: InboxRow): Promise<string | undefined>;
  /** Goes on with what an earlier incarnation had asked. */
  start(): void;
}

export interface QuestionsParts {
  store: GatewayStore;
  agent: Client;
  /** Socket file of the agent worker. */
  agentSocket: string;
  delivery: Pick<Delivery, 'settled' | 'wake'>;
  log: Logger;
  /** Aborts when this worker leaves. */
  signal: AbortSignal;
}

/** Long enough for a restart of the agent worker. */
const REPEAT_MS = 5_000;
const WORDS = /^\/(approve|deny)(?:@\S+)?(?:\s+(once|session|always))?\s*$/i;
/** What a chat shows whole, over several messages; anything longer is approved where it can be read. */
const COMMAND_MAX_CHARS = 4_000;
const COMMAND_MAX_LINES = 30;

const isReadable = (command: string): boolean => command.length <= COMMAND_MAX_CHARS && command.split('\n').length <= COMMAND_MAX_LINES;

/** `/approve` and `/deny`, whatever else is a command. */
export const isVerdict = (text: string): boolean => WORDS.test(text.trim());

export function createQuestions(parts: QuestionsParts): Questions {
  const { store, delivery, agent } = parts;
  const { questions, inbox, outbox } = store;

  const say = (question: QuestionRow, key: string, text: string): number => {
    const { platform, chat, thread } = question;
    const { row } = outbox.enqueue({ idempotency_key: key, platform, chat, thread, text, origin: 'gateway' }, Date.now());
    delivery.wake();
    return row.id;
  };

  const askNext = (question: QuestionRow): void => {
    const deliveryId = say(question, `ask:${question.request_id}:${Object.keys(question.answers).length}`, textOf(question));
    void tellShown(parts, question, deliveryId);
  };

  return {
    ask({ session_key, session_id, request_id, kind, params }) {
      if (questions.get(request_id)) return true;
      const asker = inbox.submittedOf(session_key);
      // Only where the message came from: never in a chat that merely gets the answer.
      if (!asker || asker.reply_platform !== asker.platform || asker.reply_chat !== asker.chat) return false;
      const { platform, chat, reply_thread: thread } = asker;
      questions.add({ request_id, session_key, session_id, kind, params, platform, chat, thread, answers: {}, asked_at: Date.now() });
      askNext(questions.get(request_id)!);
      return true;
    },
    settled(requestId, reason) {
      const question = questions.get(requestId);
      if (!question) return false;
      questions.remove(requestId);
      if (reason === 'timeout') say(question, `settled:${requestId}`, 'Nobody answered in time; the agent goes on without it.');
      return true;
    },
    isAnswer(sessionKey, text) {
      const trimmed = text.trim();
      if (isVerdict(trimmed)) return true;
      return !trimmed.startsWith('/') && questions.oldest(sessionKey, 'clarify') !== undefined;
    },
    async answer(row) {
      const said = readAnswer(store, row);
      if (said === undefined || typeof said === 'string') return said;
      const { question, result, thanks } = said;
      if (result === undefined) {
        askNext(questions.get(question.request_id)!);
        return '';
      }
      try {
        const { session_id, request_id } = question;
        const call = () => agent.call(requestAnswer, { session_id, request_id, result });
        const answered = await keepAsking(agent, call, { leaving: parts.signal, socket: parts.agentSocket });
        if (answered === undefined) return '';
        const { status } = answered;
        questions.remove(request_id);
        if (status === 'ok') return thanks;
        return isVerdict(row.text) ? 'That question is over; nothing was changed.' : undefined;
      } catch (thrown) {
        // The last answer is asked for again.
        questions.setAnswers(question.request_id, question.answers);
        return sentenceOf(thrown);
      }
    },
    start() {
      for (const question of questions.all()) askNext(question);
    },
  };
}

type Said = { question: QuestionRow; result?: Record<string, unknown>; thanks: string };

/** What a message says to the oldest open question of its conversation. */
function readAnswer({ questions }: GatewayStore, row: InboxRow): Said | string | undefined {
  const key = row.session_key ?? row.lane;
  const text = row.text.trim();
  const [, word, how] = WORDS.exec(text) ?? [];
  if (word !== undefined) {
    const question = questions.oldest(key, 'approval') ?? questions.oldest(key, 'clarify');
    if (!question) return 'Nothing waits for an answer here.';
    const deny = word.toLowerCase() === 'deny';
    if (question.kind === 'clarify')
      return deny ? { question, result: {}, thanks: 'Declined.' } : 'Please answer the question itself, or /deny.';
    const choice = deny ? 'deny' : (how?.toLowerCase() ?? 'once');
    const { choices, command } = ApprovalParams.parse(question.params);
    if (!deny && !isReadable(command)) return 'It is too long to be read here: approve it on the page or in the terminal, or /deny.';
    if (!(choices as string[]).includes(choice))
      return `This cannot be allowed for ${choice === 'always' ? 'good' : 'the session'}: /approve${choices.includes('session') ? ', /approve session' : ''} or /deny.`;
    return { question, result: { choice }, thanks: deny ? 'Denied.' : choice === 'once' ? 'Approved.' : `Approved (${choice}).` };
  }
  const question = questions.oldest(key, 'clarify');
  if (!question) return undefined;
  const list = ClarifyParams.parse(question.params).questions;
  const current = list.find(({ qid }) => !(qid in question.answers));
  if (!current) return undefined;
  const answers = { ...question.answers, [current.qid]: chosen(text, current) };
  questions.setAnswers(question.request_id, answers);
  return Object.keys(answers).length < list.length ? { question, thanks: '' } : { question, result: { answers }, thanks: '' };
}

/** Numbers stand for the choices. */
function chosen(text: string, { choices, multi_select }: { choices?: string[] | undefined; multi_select?: boolean | undefined }): string {
  if (!choices) return text;
  const pick = (part: string): string =>
    choices[Number(part) - 1] ?? choices.find((choice) => choice.toLowerCase() === part.toLowerCase()) ?? part;
  if (!multi_select) return pick(text);
  return text
    .split(/\s*,\s*|\s+(?=\d+(?:\s|,|$))/)
    .map(pick)
    .join(', ');
}

function textOf({ kind, params, answers }: QuestionRow): string {
  if (kind === 'approval') {
    const { tool_name, command, reasons, choices } = ApprovalParams.parse(params);
    const why = `(${reasons.join('; ')})`;
    if (!isReadable(command))
      return `${tool_name} asks to run ${command.length} characters, too many to read here. ${why}\nApprove it on the page or in the terminal, or /deny`;
    const more = choices.filter((choice) => choice === 'session' || choice === 'always').map((choice) => `, /approve ${choice}`);
    const exact = more.length > 0 ? '\nsession and always allow exactly this command, in this chat' : '';
    return `May ${tool_name} run this?\n${command}\n${why}\n/approve${more.join('')} or /deny${exact}`;
  }
  const { questions } = ClarifyParams.parse(params);
  const at = Object.keys(answers).length;
  const { question, choices, multi_select } = questions[at] ?? questions.at(-1)!;
  const count = questions.length > 1 ? ` (${at + 1} of ${questions.length})` : '';
  const list = (choices ?? []).map((choice, index) => `\n${index + 1}. ${choice}`).join('');
  const how = choices ? `\nAnswer with ${multi_select ? 'numbers' : 'a number'} or your own words` : '';
  return `${question}${count}${list}${how}`;
}

/** The clock of a question starts when it stands in the chat. */
async function tellShown(
  { delivery, agent, store, log, signal }: QuestionsParts,
  { session_id, request_id }: QuestionRow,
  deliveryId: number,
): Promise<void> {
  while (!signal.aborted && store.questions.get(request_id)) {
    const row = await delivery.settled(deliveryId, limits.gateway.questionLookMs);
    if (!row || row.state === 'failed' || row.state === 'expired') return;
    if (row.state === 'pending' || row.state === 'sending') continue;
    return void (await agent.call(requestShown, { session_id, request_id }, { repeatForMs: REPEAT_MS }).catch((thrown: unknown) => {
      log.warn(`the agent could not be told that a question was shown: ${messageOf(thrown)}`);
    }));
  }
}
