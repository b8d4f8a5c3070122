/** The places of the page and their addresses. Chat comes with the first load, the others when they are opened. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Link } from '@tanstack/react-router';
import { Conversation } from '../chat/conversation.tsx';
import { NewChat } from '../chat/newChat.tsx';
import { PlaceHeader } from './header.tsx';
import { Shell } from './shell.tsx';

const rootRoute = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const newChat = createRoute({ getParentRoute: () => rootRoute, path: '/', component: NewChat });
const chat = createRoute({ getParentRoute: () => rootRoute, path: '/chat/$sessionId', component: ChatRoute });
const workers = createRoute({
  getParentRoute: () => rootRoute,
  path: '/workers',
  component: lazyRouteComponent(() => import('../workers/workersPlace.tsx'), 'WorkersPlace'),
});
const logs = createRoute({
  getParentRoute: () => rootRoute,
  path: '/logs',
  component: lazyRouteComponent(() => import('../logs/logsPlace.tsx'), 'LogsPlace'),
});
const terminal = createRoute({
  getParentRoute: () => rootRoute,
  path: '/terminal',
  component: lazyRouteComponent(() => import('../terminal/terminalPlace.tsx'), 'TerminalPlace'),
});

export const router = createRouter({
  routeTree: rootRoute.addChildren([newChat, chat, workers, logs, terminal]),
  defaultPreload: 'intent',
  // Each place scrolls inside itself.
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function ChatRoute() {
  const { sessionId } = chat.useParams();
  return <Conversation key={sessionId} id={sessionId} />;
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
