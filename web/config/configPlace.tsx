/** Settings of the profile: a form from the schema, or the file itself as YAML. What is not saved is not lost by a slip. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../api.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Notice } from '../ui/notice.tsx';
import { PlaceBody, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { ConfigForm } from './configForm.tsx';
import type { Draft } from './values.ts';
import { YamlEditor, type YamlDraft } from './yamlEditor.tsx';

export function ConfigPlace() {
  const profile = useProfile();
  const queries = useQueryClient();
  const [tab, setTab] = useState('form');
  const [draft, setDraft] = useState<Draft>({});
  /** What the first change of the draft was made from: a list is saved whole, so a later version is somebody else's. */
  const [madeFrom, setMadeFrom] = useState<string | null>(null);
  const [yaml, setYaml] = useState<YamlDraft | null>(null);
  const config = useQuery({
    queryKey: ['config', 'values', profile],
    queryFn: ({ signal }) => request('GET /api/config', { query: { profile }, signal }),
  });
  const schema = useQuery({
    queryKey: ['config', 'schema', profile],
    queryFn: ({ signal }) => request('GET /api/config/schema', { query: { profile }, signal }),
    staleTime: Infinity,
  });
  const dirty = Object.keys(draft).length > 0 || yaml !== null;
  const guard = useBlocker({ shouldBlockFn: () => dirty, enableBeforeUnload: () => dirty, withResolver: true });
  const error = config.error ?? schema.error;
  const change = (next: Draft) => {
    setDraft(next);
    setMadeFrom(Object.keys(next).length === 0 ? null : (madeFrom ?? config.data?.version ?? null));
  };
  const saved = () => queries.invalidateQueries({ queryKey: ['config'] });
  return (
    <>
      <PlaceHeader title="Config" />
      <PlaceBody wide>
        {error && !(config.data && schema.data) && (
          <Problem
            thrown={error}
            onRetry={() => {
              void config.refetch();
              void schema.refetch();
            }}
          />
        )}
        {!error && !(config.data && schema.data) && <Skeleton height={30} />}
        {config.data?.problem && (
          <Notice
            tone="bad"
            title={`config.yaml cannot be used: line ${config.data.problem.line}, column ${config.data.problem.column}`}
            actions={tab === 'form' && <Button onClick={() => setTab('yaml')}>Mend it</Button>}
          >
            {config.data.problem.message}. What was good last stays in force.
          </Notice>
        )}
        {config.data && schema.data && (
          <Tabs
            label="Config"
            value={tab}
            onChange={setTab}
            tabs={[
              {
                value: 'form',
                label: 'Form',
                panel: (
                  <ConfigForm
                    config={config.data}
                    schema={schema.data}
                    version={madeFrom ?? config.data.version}
                    draft={draft}
                    onDraft={change}
                    onSaved={saved}
                    onYaml={() => setTab('yaml')}
                  />
                ),
              },
              { value: 'yaml', label: 'YAML', panel: <YamlEditor draft={yaml} onDraft={setYaml} onSaved={saved} /> },
            ]}
          />
        )}
      </PlaceBody>
      <ConfirmDialog
        open={guard.status === 'blocked'}
        onClose={() => guard.reset?.()}
        title="Leave without saving?"
        verb="Leave"
        onConfirm={() => guard.proceed?.()}
      >
        Your changes of the configuration are not saved yet.
      </ConfirmDialog>
    </>
  );
}
