/** The button of the menu of a chat; the menu itself is loaded when it is pressed for the first time, and then it opens. */
import { MoreHorizontal } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { IconButton } from '../ui/button.tsx';
import type { SessionMenuProps } from './sessionMenu.tsx';

const SessionMenu = lazy(() => import('./sessionMenu.tsx').then(({ SessionMenu: component }) => ({ default: component })));

export function LazyMenu(props: Omit<SessionMenuProps, 'trigger'>) {
  const [wanted, setWanted] = useState(false);
  const button = (
    <IconButton label={`More about ${props.title}`} tabIndex={props.tabIndex} aria-haspopup="menu" onClick={() => setWanted(true)}>
      <MoreHorizontal size={17} />
    </IconButton>
  );
  if (!wanted) return button;
  return (
    <Suspense fallback={button}>
      <SessionMenu {...props} />
    </Suspense>
  );
}
