/** Tool servers: those of config.yaml with their live state, and a catalogue to install from. */
import { Plus, Store } from 'lucide-react';
import { useState } from 'react';
import { PlaceHeader } from '../app/header.tsx';
import { Button } from '../ui/button.tsx';
import { Command, Notice } from '../ui/notice.tsx';
import { Empty, PlaceBody, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { AddServer } from './addServer.tsx';
import { Catalog } from './catalog.tsx';
import { useServers } from './mcpData.ts';
import { ServerCard } from './serverCard.tsx';

type Face = 'servers' | 'catalog';

export function McpPlace() {
  const [face, setFace] = useState<Face>('servers');
  const [adding, setAdding] = useState(false);
  const { data, error, refetch } = useServers();
  const servers = data?.servers ?? [];

  const serversPanel = (
    <>
      {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={14} />}
      {data && !data.live && (
        <Notice tone="warn" title="The broker of the tool servers does not answer">
          What stands below is config.yaml alone. <Command>agent start mcp</Command> starts it; Workers shows why it is away.
        </Notice>
      )}
      {data && servers.length === 0 && (
        <Empty
          title="No tool servers yet"
          actions={
            <span className="flex flex-wrap justify-center gap-2">
              <Button weight="strong" icon={<Store size={16} />} onClick={() => setFace('catalog')}>
                Look at the catalogue
              </Button>
              <Button icon={<Plus size={16} />} onClick={() => setAdding(true)}>
                Add a server
              </Button>
            </span>
          }
        >
          A tool server gives the agent more to work with: files, a browser, a search engine, your issue tracker.
        </Empty>
      )}
      {servers.length > 0 && (
        <ul aria-label="Servers" className="grid gap-3">
          {servers.map((server) => (
            <li key={server.name}>
              <ServerCard server={server} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
  return (
    <>
      <PlaceHeader title="Tool servers">
        <Button icon={<Plus size={16} />} onClick={() => setAdding(true)}>
          <span className="max-sm:sr-only">Add a server</span>
        </Button>
      </PlaceHeader>
      <PlaceBody wide>
        <Tabs
          label="Tool servers"
          value={face}
          onChange={(value) => setFace(value as Face)}
          tabs={[
            { value: 'servers', label: 'Servers', panel: serversPanel },
            { value: 'catalog', label: 'Catalogue', panel: <Catalog onInstalled={() => setFace('servers')} /> },
          ]}
        />
      </PlaceBody>
      {adding && <AddServer onClose={() => setAdding(false)} />}
    </>
  );
}
