/** Two or more faces of one place. */
import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';

interface TabsProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  tabs: readonly { value: string; label: string; panel: ReactNode }[];
}

export function Tabs({ label, value, onChange, tabs }: TabsProps) {
  return (
    <Base.Root value={value} onValueChange={(now) => onChange(String(now))} className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-5">
      <Base.List aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px h-9 border-b-2 border-transparent px-3 text-sm font-medium whitespace-nowrap text-soft transition-colors hover:text-ink aria-selected:border-accent aria-selected:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-6">
          {tab.panel}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
