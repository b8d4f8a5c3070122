/** A new provider: its kind, its address, and its key, which goes into .env and nowhere else. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { SecretField, SelectField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Notice, WithCode } from '../ui/notice.tsx';
import { toast } from '../ui/toast.tsx';
import { useAskAgain, useEnv, type EnvRows } from './queries.ts';

interface Kind {
  value: string;
  label: string;
  /** Its usual address; null = there is none. */
  address: string | null;
  /** Variable of its key; null = it usually has none. */
  key: string | null;
}

const kinds: readonly Kind[] = [
  { value: 'openai-compatible', label: 'Any server that speaks the OpenAI chat API', address: null, key: null },
  { value: 'openai', label: 'OpenAI', address: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' },
  { value: 'openai-chat', label: 'OpenAI, its older chat API', address: 'https://api.openai.com/v1', key: 'OPENAI_API_KEY' },
  { value: 'anthropic', label: 'Anthropic', address: 'https://api.anthropic.com/v1', key: 'ANTHROPIC_API_KEY' },
  { value: 'google', label: 'Google Gemini', address: 'https://generativelanguage.googleapis.com/v1beta', key: 'GEMINI_API_KEY' },
  { value: 'openrouter', label: 'OpenRouter', address: 'https://openrouter.ai/api/v1', key: 'OPENROUTER_API_KEY' },
  { value: 'ollama', label: 'Ollama', address: 'http://127.0.0.1:11434/v1', key: null },
  { value: 'lmstudio', label: 'LM Studio', address: 'http://127.0.0.1:1234/v1', key: null },
  { value: 'llamacpp', label: 'llama.cpp', address: 'http://127.0.0.1:8080/v1', key: null },
];

const variableOf = (name: string): string => `${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_API_KEY`;

/** `my-box` and `my_box` would share one, and each would send the key of the other. */
function freeVariable(wanted: string, env: EnvRows): string {
  let name = wanted;
  for (let n = 2; (env[name]?.is_set ?? false) && env[name]!.used_by.length > 0; n++) name = `${wanted}_${n}`;
  return name;
}

export function AddProvider({ taken, onClose }: { taken: readonly string[]; onClose: () => void }) {
  const profile = useProfile();
  const again = useAskAgain();
  const { data: env = {} } = useEnv();
  const [kindName, setKind] = useState('openai-compatible');
  const kind = kinds.find(({ value }) => value === kindName)!;
  const [name, setName] = useState('');
  const [address, setAddress] = useState('');
  const [key, setKey] = useState('');
  const wanted = name.trim() || (kind.address === null ? '' : kind.value);
  const add = useMutation({
    mutationFn: async () => {
      const ownKey = wanted === kind.value && kind.key !== null;
      const variable = ownKey ? kind.key! : taken.includes(wanted) ? variableOf(wanted) : freeVariable(variableOf(wanted), env);
      // The key first: a provider that is written is at once used.
      if (key) await request('PUT /api/env', { query: { profile }, body: { key: variable, value: key } });
      const entry = {
        ...(wanted === kind.value ? {} : { kind: kind.value }),
        ...(address.trim() ? { base_url: address.trim() } : {}),
        ...(key && !ownKey ? { key_env: variable } : {}),
      };
      // One whose name and address are the usual ones still has to be named.
      const written = Object.keys(entry).length > 0 ? entry : { kind: kind.value };
      await request('PUT /api/config', { query: { profile }, body: { config: { providers: { [wanted]: written } } } });
      return request('POST /api/model/check', { query: { profile }, body: { provider: wanted, probe: true } });
    },
    onSuccess: ({ ok }) => {
      if (!ok) return;
      toast(`${wanted} is added and answers`);
      onClose();
    },
    onSettled: again,
  });
  const nameError = /^[A-Za-z0-9][\w.-]{0,63}$/.test(wanted) || wanted === '' ? undefined : 'Letters, digits, . - and _';
  const addressError = address === '' || /^https?:\/\/\S+$/.test(address.trim()) ? undefined : 'An address begins with http:// or https://';
  const complete = wanted !== '' && !nameError && !addressError && (kind.address !== null || address.trim() !== '');
  return (
    <FormDialog
      onClose={onClose}
      title="Add a provider"
      verb="Add and test"
      doing="Testing…"
      closeWord={add.data && !add.data.ok ? 'Close' : 'Cancel'}
      busy={add.isPending}
      complete={complete}
      error={add.error}
      onSubmit={() => add.mutate()}
    >
      <SelectField
        label="Kind"
        choices={kinds.map(({ value, label }) => ({ value, label }))}
        value={kindName}
        onChange={(event) => setKind(event.target.value)}
      />
      <TextField
        label="Name"
        literal
        hint={kind.address === null ? 'As it stands in front of its models: box:qwen3-8b.' : `Left empty: ${kind.value}.`}
        error={nameError}
        placeholder={kind.address === null ? 'box' : kind.value}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      {taken.includes(wanted) && <Notice tone="warn">{wanted} is there already: what you write here is added to it.</Notice>}
      <TextField
        label="Address"
        mono
        error={addressError}
        placeholder={kind.address ?? 'https://llm.example.com/v1'}
        hint={kind.address === null ? 'Of its API, with /v1 where it has one.' : 'Left empty: the usual one.'}
        value={address}
        onChange={(event) => setAddress(event.target.value)}
      />
      <SecretField
        label="Key"
        hint="Kept in .env of this profile, readable by you alone. Left empty: it has none, or has it already."
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      {add.data && !add.data.ok && (
        <Notice tone="bad" title="It is added, but it does not answer yet">
          {add.data.error && <WithCode text={add.data.error} />}
        </Notice>
      )}
    </FormDialog>
  );
}
