/** The page: the proof of the tab first, then one connection for the tab, then what is drawn. */
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ConnectionContext } from './app/context.ts';
import { profileOfAddress } from './app/profile.ts';
import { router } from './app/router.tsx';
import { TokenScreen } from './app/tokenScreen.tsx';
import { ApiError, socketAddress } from './api.ts';
import { Connection } from './connection.ts';
import './style.css';
import { renewToken, signedIn, takeToken } from './token.ts';

const root = createRoot(document.getElementById('root')!);
/** Style elements that libraries make need the nonce of this page. */
const nonce = document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce;

if (!signedIn && (await takeToken()) === null) {
  root.render(
    <StrictMode>
      <TokenScreen reason={null} />
    </StrictMode>,
  );
} else {
  const connection = new Connection({ address: () => socketAddress('/api/ws', { profile: profileOfAddress() }), renew: renewToken });
  const queries = new QueryClient({
    defaultOptions: {
      queries: { staleTime: 1_000, retry: (count, thrown) => count < 3 && !(thrown instanceof ApiError && thrown.status < 500) },
    },
  });
  root.render(
    <StrictMode>
      <CSPProvider nonce={nonce}>
        <ConnectionContext value={connection}>
          <QueryClientProvider client={queries}>
            <RouterProvider router={router} />
          </QueryClientProvider>
        </ConnectionContext>
      </CSPProvider>
    </StrictMode>,
  );
}
