/** What a chat is called where it has no name of its own. */
import type { SessionRow } from '../../ipc/contracts/rpcRecords.ts';

export const titleOf = ({ title, preview }: Pick<SessionRow, 'title' | 'preview'>): string =>
  title?.trim() || preview.trim() || 'Untitled chat';
