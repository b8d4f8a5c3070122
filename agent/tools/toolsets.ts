/** Names and one-line descriptions of the toolsets (reference, Tools). */
import type { ToolsetName } from '../../base/closedWords.ts';
import { isForeignToolset, serverOf } from './foreign.ts';

const descriptions: Readonly<Record<ToolsetName, string>> = {
  terminal: 'run shell commands, in the foreground or in the background',
  file: 'read, write, change and search files',
  web: 'search the web and read pages',
  skills: 'instructions for kinds of work, read when they are needed',
  todo: 'a task list of the session',
  memory: 'short facts that outlive a conversation',
  session_search: 'find earlier conversations',
  clarify: 'ask the user',
  code_execution: 'run scripts in python, node or bash',
  delegation: 'give pieces of work to children with sessions of their own',
  cronjob: 'make and remove scheduled jobs',
  messaging: 'send messages to chats',
};

export const toolsetDescription = (name: string): string =>
  (descriptions as Readonly<Record<string, string>>)[name] ?? (isForeignToolset(name) ? `tools of the MCP server ${serverOf(name)}` : '');
