/** What every part of the page shares: the connection, and hooks that follow it. */
import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Connection, ConnectionState } from '../connection.ts';
import type { SessionLink } from '../sessionLink.ts';
import type { SessionState } from '../sessionState.ts';
import type { Observable } from '../observable.ts';

export const ConnectionContext = createContext<Connection | null>(null);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (!connection) throw new Error('no connection above this component');
  return connection;
}

export function useObservable<T>(observable: Observable<T>): T {
  return useSyncExternalStore(observable.subscribe, observable.get);
}

export const useConnectionState = (): ConnectionState => useObservable(useConnection().state);

export function useSession(id: string): { link: SessionLink; state: SessionState } {
  const link = useConnection().session(id);
  return { link, state: useObservable(link.state) };
}
