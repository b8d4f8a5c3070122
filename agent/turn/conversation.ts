/**
 * The messages of a running turn and how much of the model's window they take. Makes room when the
 * next prompt would be too long, a bounded number of times.
 */
import { limits } from '../../base/limits.ts';
import { estimateTokens } from '../compress/tokens.ts';
import type { Compressor, ModelMessage, Usage } from '../ports.ts';

export interface Conversation {
  readonly messages: ModelMessage[];
  add(...messages: ModelMessage[]): void;
  /** The provider has counted what it was last sent. */
  counted(usage: Usage | null): void;
  /** Compresses when the next prompt would be over the threshold. */
  makeRoom(): Promise<void>;
  /** Compresses because the provider refused the prompt as too long. False: nothing more can be done in this turn. */
  shrink(): Promise<boolean>;
}

export function openConversation(messages: ModelMessage[], compressor: Compressor | undefined): Conversation {
  let tokens: number | null = null;
  let compressions = 0;
  const compress = async (reason: 'threshold' | 'overflow'): Promise<boolean> => {
    if (!compressor || compressions >= limits.compress.perTurnMax) return false;
    compressions++;
    const shorter = await compressor.compress(reason);
    if (!shorter) return false;
    messages = shorter;
    tokens = null;
    return true;
  };
  return {
    get messages() {
      return messages;
    },
    add(...more) {
      messages.push(...more);
      if (tokens !== null) tokens += estimateTokens(more);
    },
    counted(usage) {
      tokens = usage?.input ?? null;
    },
    async makeRoom() {
      if (compressions < limits.compress.perTurnMax && compressor?.due(messages, tokens)) await compress('threshold');
    },
    shrink: () => compress('overflow'),
  };
}
