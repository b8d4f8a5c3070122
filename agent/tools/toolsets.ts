/** Names and one-line descriptions of the toolsets (reference, Tools). */
import { isForeignToolset, serverOf } from './foreign.ts';

const descriptions: Readonly<Record<string, string>> = {
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

/** Of the agent itself, in the order they are listed. */
export const toolsetNames: readonly string[] = Object.keys(descriptions);

export const toolsetDescription = (name: string): string =>
  descriptions[name] ?? (isForeignToolset(name) ? `tools of the MCP server ${serverOf(name)}` : '');
