/** Every verb of `agent`, in the order of the help. A new one is a row here and a file in `commands/`. */
import type { CommandModule } from './command.ts';

export interface TableEntry {
  name: string;
  summary: string;
  group: 'Service' | 'Talk' | 'Automation' | 'Setup';
  /** Parsed without the full parser and bundled with the entry: for what people and prompts call all day. */
  hot?: true;
  load: () => Promise<CommandModule>;
}

export const commandTable: readonly TableEntry[] = [
  { name: 'up', group: 'Service', summary: 'start the service and say where it is', load: () => import('./commands/up.ts') },
  { name: 'dashboard', group: 'Service', summary: 'open the dashboard in the browser', load: () => import('./commands/dashboard.ts') },
  { name: 'down', group: 'Service', summary: 'stop everything, after running work has drained', load: () => import('./commands/down.ts') },
  {
    name: 'status',
    hot: true,
    group: 'Service',
    summary: 'show what runs, what does not, and why',
    load: () => import('./commands/status.ts'),
  },
  { name: 'start', group: 'Service', summary: 'start a slot and wait until it is ready', load: () => import('./commands/start.ts') },
  { name: 'stop', group: 'Service', summary: 'drain and stop a slot', load: () => import('./commands/stop.ts') },
  { name: 'restart', group: 'Service', summary: 'drain, stop and start a slot', load: () => import('./commands/restart.ts') },
  { name: 'why', group: 'Service', summary: 'say why a slot ended or does not start', load: () => import('./commands/why.ts') },
  {
    name: 'drill',
    group: 'Service',
    summary: 'break something on purpose and measure the recovery',
    load: () => import('./commands/drill.ts'),
  },
  { name: 'logs', group: 'Service', summary: 'read and follow the logs', load: () => import('./commands/logs.ts') },
  { name: 'gateway', group: 'Service', summary: 'run and steer the chat-platform gateway', load: () => import('./commands/gateway.ts') },
  {
    name: 'service',
    group: 'Service',
    summary: 'install it as a service of systemd or launchd',
    load: () => import('./commands/service.ts'),
  },
  { name: 'doctor', group: 'Service', summary: 'check everything a support person would ask', load: () => import('./commands/doctor.ts') },
  { name: 'recover', group: 'Service', summary: 'recover a damaged store', load: () => import('./commands/recover.ts') },
  {
    name: 'worker',
    group: 'Service',
    summary: 'run one worker in the foreground, without the supervisor',
    load: () => import('./commands/worker.ts'),
  },
  { name: 'chat', group: 'Talk', summary: 'talk to the agent in this terminal', load: () => import('./commands/chat.ts') },
  { name: 'sessions', group: 'Talk', summary: 'list, find and take care of conversations', load: () => import('./commands/sessions.ts') },
  {
    name: 'memory',
    group: 'Talk',
    summary: 'show the memory and review what is to be written',
    load: () => import('./commands/memory.ts'),
  },
  {
    name: 'files',
    group: 'Talk',
    summary: 'list, fetch, bring and delete the files of the agent',
    load: () => import('./commands/files.ts'),
  },
  {
    name: 'approvals',
    group: 'Talk',
    summary: 'list and take back what was allowed for good',
    load: () => import('./commands/approvals.ts'),
  },
  { name: 'usage', group: 'Talk', summary: 'show what conversations cost', load: () => import('./commands/usage.ts') },
  { name: 'send', group: 'Talk', summary: 'send a message to a chat through the gateway', load: () => import('./commands/send.ts') },
  { name: 'cron', group: 'Automation', summary: 'make and steer scheduled jobs', load: () => import('./commands/cron.ts') },
  { name: 'webhook', group: 'Automation', summary: 'make and remove webhook routes', load: () => import('./commands/webhook.ts') },
  {
    name: 'pause',
    hot: true,
    group: 'Automation',
    summary: 'hold new automation: cron runs, webhooks, gateway turns',
    load: () => import('./commands/pause.ts'),
  },
  { name: 'resume', hot: true, group: 'Automation', summary: 'let automation go on', load: () => import('./commands/resume.ts') },
  { name: 'config', group: 'Setup', summary: 'read and change config.yaml', load: () => import('./commands/config.ts') },
  { name: 'model', group: 'Setup', summary: 'choose the model that answers', load: () => import('./commands/model.ts') },
  {
    name: 'profile',
    group: 'Setup',
    summary: 'make and choose separate agents on this machine',
    load: () => import('./commands/profile.ts'),
  },
  { name: 'env', group: 'Setup', summary: 'keep secrets in .env', load: () => import('./commands/env.ts') },
  { name: 'auth', group: 'Setup', summary: 'sign in at model providers', load: () => import('./commands/auth.ts') },
  { name: 'tools', group: 'Setup', summary: 'list tools, switch toolsets on and off', load: () => import('./commands/tools.ts') },
  { name: 'mcp', group: 'Setup', summary: 'connect tool servers (MCP)', load: () => import('./commands/mcp.ts') },
  { name: 'skills', group: 'Setup', summary: 'list, read, switch and check skills', load: () => import('./commands/skills.ts') },
  {
    name: 'prompt-size',
    group: 'Setup',
    summary: 'measure the fixed part of every prompt',
    load: () => import('./commands/promptSize.ts'),
  },
  { name: 'completion', group: 'Setup', summary: 'print the completion script of a shell', load: () => import('./commands/completion.ts') },
];
