/** The places of the page: their addresses, names and signs, in the order of the navigation and the palette. */
import {
  Activity,
  CalendarClock,
  ChartNoAxesColumn,
  Cpu,
  Folder,
  MessageCircle,
  MessagesSquare,
  Plug,
  ScrollText,
  Settings,
  SquareTerminal,
  Stethoscope,
  UserRound,
  type LucideIcon,
} from 'lucide-react';

export interface PlaceEntry {
  to: PlacePath;
  label: string;
  icon: LucideIcon;
  /** What one does there; the palette searches in it too. */
  about: string;
}

export const placePaths = [
  '/',
  '/workers',
  '/logs',
  '/cron',
  '/mcp',
  '/platforms',
  '/models',
  '/config',
  '/profiles',
  '/files',
  '/analytics',
  '/terminal',
  '/doctor',
] as const;
export type PlacePath = (typeof placePaths)[number];

export const places: readonly PlaceEntry[] = [
  { to: '/', label: 'Chat', icon: MessageCircle, about: 'talk to the agent' },
  { to: '/workers', label: 'Workers', icon: Activity, about: 'processes, restarts, memory, pause' },
  { to: '/logs', label: 'Logs', icon: ScrollText, about: 'what the service writes' },
  { to: '/cron', label: 'Cron', icon: CalendarClock, about: 'scheduled jobs, blueprints, history' },
  { to: '/mcp', label: 'MCP', icon: Plug, about: 'tool servers and their catalogue' },
  { to: '/platforms', label: 'Platforms', icon: MessagesSquare, about: 'chat platforms of the gateway' },
  { to: '/models', label: 'Models', icon: Cpu, about: 'models, providers, keys' },
  { to: '/config', label: 'Config', icon: Settings, about: 'settings as a form or as YAML' },
  { to: '/profiles', label: 'Profiles', icon: UserRound, about: 'separate agents on this machine, their skills and tools' },
  { to: '/files', label: 'Files', icon: Folder, about: 'files of the agent' },
  { to: '/analytics', label: 'Analytics', icon: ChartNoAxesColumn, about: 'tokens and cost over time' },
  { to: '/terminal', label: 'Terminal', icon: SquareTerminal, about: 'a shell on this machine' },
  { to: '/doctor', label: 'Doctor', icon: Stethoscope, about: 'checks of the whole installation' },
];
