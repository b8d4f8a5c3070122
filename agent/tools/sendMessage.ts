/** `send_message`: a message to a chat through the gateway's durable outbox. A repeated call is stored once. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { MessageSender } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

export interface SendMessageOptions {
  sender: MessageSender;
  sessionId: string;
  /** Delivery target of the chat the session belongs to; null on surfaces that are no chat. */
  origin: string | null;
  /** Nobody reads along here: only the chat itself may be written to. */
  originOnly: boolean;
}

const Args = z.object({
  to: z.string().min(1).describe('`<platform>`, `<platform>:<chat>`, `<platform>:<chat>:<thread>`, or `origin` (this chat).'),
  text: z.string().min(1).max(limits.tools.messageMaxChars),
});

export function sendMessageTool({ sender, sessionId, origin, originOnly }: SendMessageOptions): Tool {
  return defineTool({
    name: 'send_message',
    toolset: 'messaging',
    description: 'Sends a message to a chat platform. It is stored first and delivered when the platform is connected.',
    args: Args,
    async run({ to, text }, { callId, signal }) {
      const target = targetOf(to, origin);
      if (originOnly && target !== origin) {
        throw new AgentError('TOOL_REFUSED', `only this chat (${origin}) may be written to from here`, {
          fix: 'the owner allows more by listing messaging under platform_toolsets in config.yaml',
        });
      }
      const sent = await sender.send({ to: target, text, key: `tool:${sessionId}:${callId}` }, signal);
      return { text: `Message to ${target}: ${sent.state} (delivery ${sent.id}).`, data: { to: target, ...sent }, isError: false };
    },
  });
}

function targetOf(to: string, origin: string | null): string {
  if (to !== 'origin') return to;
  if (origin !== null) return origin;
  throw new AgentError('UNKNOWN_TARGET', 'this session belongs to no chat', { fix: 'name a platform and a chat' });
}
