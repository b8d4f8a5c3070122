/** Which model answers, what serves it, and the keys for that. */
import { useState } from 'react';
import { PlaceHeader } from '../app/header.tsx';
import { PlaceBody } from '../ui/place.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { Keys } from './keys.tsx';
import { MainModel } from './mainModel.tsx';
import { Providers } from './providers.tsx';
import { SideWork } from './sideWork.tsx';

export function ModelsPlace() {
  const [tab, setTab] = useState('models');
  return (
    <>
      <PlaceHeader title="Models and keys" />
      <PlaceBody wide>
        <Tabs
          label="Models and keys"
          value={tab}
          onChange={setTab}
          tabs={[
            {
              value: 'models',
              label: 'Models',
              panel: (
                <>
                  <MainModel onProviders={() => setTab('providers')} />
                  <SideWork />
                </>
              ),
            },
            { value: 'providers', label: 'Providers', panel: <Providers onKeys={() => setTab('keys')} /> },
            { value: 'keys', label: 'Keys', panel: <Keys /> },
          ]}
        />
      </PlaceBody>
    </>
  );
}
