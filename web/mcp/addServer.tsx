/** Adding a server by hand: a program on this machine, or an address. Secrets go into .env, never into config.yaml. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { SecretField, SelectField, TextArea, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { toast } from '../ui/toast.tsx';
import { fieldErrors, useRefresh } from './mcpData.ts';
import { splitWords } from './splitWords.ts';

const empty = { kind: 'command', name: '', command: '', env: '', url: '', transport: 'http', auth: 'none', token: '' };

export function AddServer({ onClose }: { onClose: () => void }) {
  const profile = useProfile();
  const refresh = useRefresh();
  const [values, setValues] = useState(empty);
  const set = (name: keyof typeof empty) => (event: { target: { value: string } }) => setValues({ ...values, [name]: event.target.value });
  const add = useMutation({
    mutationFn: () => request('POST /api/mcp/servers', { body: { ...bodyOf(values), profile } }),
    onSuccess: ({ server, variables }) => {
      toast(variables.length > 0 ? `${server.name} is added; its secrets are in .env.` : `${server.name} is added.`);
      onClose();
    },
    onSettled: refresh,
  });
  const errors = fieldErrors(add.error);
  const shown = ['name', 'command', 'args', 'url', 'bearer_token'];
  const envError = Object.entries(errors).find(([path]) => path.startsWith('env'))?.[1];
  const elsewhere = add.error && !envError && !shown.some((name) => name in errors);
  const ready = values.name !== '' && (values.kind === 'command' ? values.command.trim() !== '' : values.url.trim() !== '');
  return (
    <FormDialog
      onClose={onClose}
      title="Add a server"
      verb="Add"
      doing="Adding…"
      busy={add.isPending}
      complete={ready}
      error={elsewhere ? add.error : null}
      onSubmit={() => add.mutate()}
    >
      <TextField
        label="Name"
        literal
        hint="letters, digits, _ and -"
        value={values.name}
        onChange={set('name')}
        error={errors.name}
        autoFocus
      />
      <SelectField
        label="What is it?"
        value={values.kind}
        onChange={set('kind')}
        choices={[
          { value: 'command', label: 'a program on this machine' },
          { value: 'url', label: 'an address' },
        ]}
      />
      {values.kind === 'command' ? (
        <>
          <TextField
            label="Command"
            placeholder="npx -y @modelcontextprotocol/server-memory"
            hint="It runs with your rights. No secrets here: other users of the machine can read it."
            value={values.command}
            onChange={set('command')}
            error={errors.command ?? errors.args}
            mono
          />
          <TextArea
            label="Environment"
            placeholder="API_KEY=…"
            hint="One NAME=value in a line. What looks like a secret goes into .env."
            rows={3}
            value={values.env}
            onChange={set('env')}
            error={envError}
            mono
            spellCheck={false}
            autoComplete="off"
          />
        </>
      ) : (
        <>
          <TextField
            label="Address"
            type="url"
            placeholder="https://example.org/mcp"
            value={values.url}
            onChange={set('url')}
            error={errors.url}
            mono
          />
          <SelectField
            label="Transport"
            value={values.transport}
            onChange={set('transport')}
            choices={[
              { value: 'http', label: 'Streamable HTTP' },
              { value: 'sse', label: 'SSE, for servers of the older kind' },
            ]}
          />
          <SelectField
            label="Sign-in"
            value={values.auth}
            onChange={set('auth')}
            choices={[
              { value: 'none', label: 'none' },
              { value: 'header', label: 'a token' },
            ]}
          />
          {values.auth === 'header' && (
            <SecretField
              label="Token"
              hint="It goes into .env; config.yaml holds its name alone."
              value={values.token}
              onChange={set('token')}
              error={errors.bearer_token}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}

function bodyOf({ kind, name, command, env, url, transport, auth, token }: typeof empty) {
  if (kind === 'url') {
    return {
      name,
      url: url.trim(),
      ...(transport === 'sse' ? { transport: 'sse' as const } : {}),
      ...(auth === 'header' ? { auth: 'header' as const, ...(token === '' ? {} : { bearer_token: token.trim() }) } : {}),
    };
  }
  const [program = '', ...args] = splitWords(command);
  const pairs = env
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line): [string, string] => {
      const at = line.indexOf('=');
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
  return { name, command: program, args, ...(pairs.length > 0 ? { env: Object.fromEntries(pairs) } : {}) };
}
