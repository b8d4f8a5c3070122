/** The places of the page and their addresses. Chat comes with the first load, the others when they are opened. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Link,
  retainSearchParams,
  useRouterState,
} from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { NewChat } from '../chat/newChat.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';
import { PlaceHeader } from './header.tsx';
import { PlaceError } from './placeError.tsx';
import { places } from './places.ts';
import { Shell } from './shell.tsx';

interface Search {
  profile?: string;
}

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: ({ profile, ...rest }: Record<string, unknown>): Search => (typeof profile === 'string' ? { ...rest, profile } : rest),
  search: { middlewares: [retainSearchParams<Search>(['profile'])] },
});
const parent = { getParentRoute: () => rootRoute };

const newChat = createRoute({ ...parent, path: '/', component: NewChat });
const chat = createRoute({ ...parent, path: '/chat/$sessionId', component: ChatRoute });
const workers = createRoute({
  ...parent,
  path: '/workers',
  component: lazyRouteComponent(() => import('../workers/workersPlace.tsx'), 'WorkersPlace'),
});
const logs = createRoute({ ...parent, path: '/logs', component: lazyRouteComponent(() => import('../logs/logsPlace.tsx'), 'LogsPlace') });
const cron = createRoute({ ...parent, path: '/cron', component: lazyRouteComponent(() => import('../cron/cronPlace.tsx'), 'CronPlace') });
const mcp = createRoute({ ...parent, path: '/mcp', component: lazyRouteComponent(() => import('../mcp/mcpPlace.tsx'), 'McpPlace') });
const platforms = createRoute({
  ...parent,
  path: '/platforms',
  component: lazyRouteComponent(() => import('../platforms/platformsPlace.tsx'), 'PlatformsPlace'),
});
const models = createRoute({
  ...parent,
  path: '/models',
  component: lazyRouteComponent(() => import('../models/modelsPlace.tsx'), 'ModelsPlace'),
});
const config = createRoute({
  ...parent,
  path: '/config',
  component: lazyRouteComponent(() => import('../config/configPlace.tsx'), 'ConfigPlace'),
});
const profiles = createRoute({
  ...parent,
  path: '/profiles',
  component: lazyRouteComponent(() => import('../profiles/profilesPlace.tsx'), 'ProfilesPlace'),
});
const files = createRoute({
  ...parent,
  path: '/files',
  component: lazyRouteComponent(() => import('../files/filesPlace.tsx'), 'FilesPlace'),
});
const analytics = createRoute({
  ...parent,
  path: '/analytics',
  component: lazyRouteComponent(() => import('../analytics/analyticsPlace.tsx'), 'AnalyticsPlace'),
});
const terminal = createRoute({
  ...parent,
  path: '/terminal',
  component: lazyRouteComponent(() => import('../terminal/terminalPlace.tsx'), 'TerminalPlace'),
});
const doctor = createRoute({
  ...parent,
  path: '/doctor',
  component: lazyRouteComponent(() => import('../doctor/doctorPlace.tsx'), 'DoctorPlace'),
});

/** A place that is not there by then is announced by its name and its outline. */
const PENDING_MS = 200;

export const router = createRouter({
  routeTree: rootRoute.addChildren([
    newChat,
    chat,
    workers,
    logs,
    cron,
    mcp,
    platforms,
    models,
    config,
    profiles,
    files,
    analytics,
    terminal,
    doctor,
  ]),
  defaultPreload: 'intent',
  defaultErrorComponent: PlaceError,
  defaultPendingComponent: PendingPlace,
  defaultPendingMs: PENDING_MS,
  // A place that is there is shown.
  defaultPendingMinMs: 0,
  // Each place scrolls inside itself.
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

/** While a place is loaded over a slow line. */
function PendingPlace() {
  const title = useRouterState({
    select: ({ location }) => places.find(({ to }) => to !== '/' && location.pathname.startsWith(to))?.label ?? 'Chat',
  });
  return (
    <>
      <PlaceHeader title={title} />
      <PlaceBody wide>
        <Skeleton height={16} />
      </PlaceBody>
    </>
  );
}

const Conversation = lazy(() => import('../chat/conversation.tsx').then(({ Conversation: component }) => ({ default: component })));

function ChatRoute() {
  const { sessionId } = chat.useParams();
  return (
    <Suspense fallback={<PlaceHeader title=" " />}>
      <Conversation key={sessionId} id={sessionId} />
    </Suspense>
  );
}

function NotFound() {
  return (
    <>
      <PlaceHeader title="Nothing here" />
      <p className="p-6 text-soft">
        This address leads nowhere. Go back to the{' '}
        <Link to="/" className="text-accent underline">
          chat
        </Link>
        .
      </p>
    </>
  );
}
