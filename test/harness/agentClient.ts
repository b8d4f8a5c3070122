/** A client of the agent worker for tests: keeps every event and waits for the end of a turn. */
import { onNotice, type Link } from '../../ipc/link.ts';
import { event, type EventParams, type EventPayloads } from '../../ipc/contracts/rpcEvents.ts';
import { promptSubmit, sessionCreate } from '../../ipc/contracts/rpc.ts';
import { approvalPending, approvalRespond, type ApprovalChoice, type ApprovalParams } from '../../ipc/contracts/rpcRequests.ts';
import type { InputOf } from '../../ipc/method.ts';
import { until } from './until.ts';
import type { DialOptions } from '../../ipc/dial.ts';

type Complete = EventPayloads['message.complete'];

export interface AgentClient extends Disposable {
  link: Link;
  /** Everything received, in order of arrival. */
  events: EventParams[];
  create(params?: InputOf<typeof sessionCreate>): Promise<string>;
  /** Answers the id of the user's message. */
  submit(
    sessionId: string,
    text: string,
    more?: { idempotency_key?: string; surface?: 'cli' | 'gateway' | 'scheduled_task' },
  ): Promise<number>;
  /** Waits for an event after position `from` of `events`. */
  next(type: string, accept?: (params: EventParams) => boolean, from?: number): Promise<EventParams>;
  /** Submits and waits for the end of the turn. */
  turn(
    sessionId: string,
    text: string,
    more?: Parameters<AgentClient['submit']>[2],
  ): Promise<{ complete: Complete; events: EventParams[] }>;
}

/** Waits until a session asks for approval, and answers with `approval.respond`; what was asked. */
export async function answerApproval({ link }: AgentClient, session_id: string, choice: ApprovalChoice): Promise<ApprovalParams> {
  const { id, params } = await until('a request for approval', async () =>
    (await link.call(approvalPending, { session_id })).requests.find(({ method }) => method === 'approval'),
  );
  await link.call(approvalRespond, { session_id, request_id: id, choice });
  return params as ApprovalParams;
}

/** One call of a tool by the scripted model; what `tool.complete` says of it. */
export async function useTool(
  client: AgentClient,
  sessionId: string,
  name: string,
  args: object,
): Promise<EventPayloads['tool.complete'] & { result: Record<string, unknown> }> {
  const { events } = await client.turn(sessionId, `tool: ${name} ${JSON.stringify(args)}`);
  return events.find(({ type }) => type === 'tool.complete')!.payload as Awaited<ReturnType<typeof useTool>>;
}

/** `worker`: whatever can dial the agent. */
export async function connect(worker: { dial(options: Partial<DialOptions>): Promise<Link> }): Promise<AgentClient> {
  const events: EventParams[] = [];
  const link = await worker.dial({ notices: [onNotice(event, (params) => void events.push(params))] });
  const client: AgentClient = {
    link,
    events,
    create: async (params = { source: 'cli' }) => (await link.call(sessionCreate, params)).session_id,
    submit: async (session_id, text, more = {}) => (await link.call(promptSubmit, { session_id, text, ...more })).message_id,
    next: (type, accept = () => true, from = 0) =>
      until(`event ${type}`, () => events.slice(from).find((params) => params.type === type && accept(params))),
    async turn(sessionId, text, more) {
      const from = events.length;
      await client.submit(sessionId, text, more);
      const end = await client.next('message.complete', (params) => params.session_id === sessionId, from);
      return { complete: end.payload as Complete, events: events.slice(from).filter((params) => params.session_id === sessionId) };
    },
    [Symbol.dispose]: () => link.destroy(),
  };
  return client;
}
