/** The frame of every place: navigation and sessions at the side (a drawer on a phone), the place beside it. */
import { Dialog } from '@base-ui/react/dialog';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useState } from 'react';
import { DrawerContext } from './header.tsx';
import { useConnectionState } from './context.ts';
import { DrawerMenu, Sidebar } from './sidebar.tsx';
import { Toasts } from '../ui/toast.tsx';
import { TokenScreen } from './tokenScreen.tsx';

const Palette = lazy(() => import('./palette.tsx').then(({ Palette: component }) => ({ default: component })));

export function Shell() {
  const { phase, reason } = useConnectionState();
  const [drawer, setDrawer] = useState(false);
  const address = useRouterState({ select: ({ location }) => location.href });
  useEffect(() => setDrawer(false), [address]);
  const [palette, setPalette] = useState(false);
  usePaletteShortcut(() => setPalette((open) => !open));

  if (phase === 'refused') return <TokenScreen reason={reason} />;
  return (
    <DrawerContext value={() => setDrawer(true)}>
      <div className="grid h-full grid-cols-[minmax(0,1fr)] md:grid-cols-[auto_minmax(0,1fr)]">
        <aside className="hidden min-h-0 md:block">
          <Sidebar />
        </aside>
        <div className="flex h-full min-h-0 min-w-0 flex-col">
          <Outlet />
        </div>
      </div>
      <Dialog.Root open={drawer} onOpenChange={setDrawer}>
        <Dialog.Portal>
          <Dialog.Backdrop className="fixed inset-0 z-10 bg-[rgb(20_18_15/0.45)] transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0" />
          <Dialog.Popup className="fixed inset-y-0 left-0 z-20 w-[min(20rem,86vw)] bg-paper shadow-raised transition-transform duration-200 data-ending-style:-translate-x-full data-starting-style:-translate-x-full">
            <Dialog.Title className="sr-only">Menu</Dialog.Title>
            <DrawerMenu />
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
      {palette && (
        <Suspense fallback={null}>
          <Palette onClose={() => setPalette(false)} />
        </Suspense>
      )}
      <Toasts />
    </DrawerContext>
  );
}

/** Ctrl+K or Cmd+K, wherever the focus is. */
function usePaletteShortcut(toggle: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      toggle();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  });
}
