/** Nothing can answer yet: the three ways to change that. A server that is found on this machine needs one press. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Cpu, Drama, KeyRound, RotateCw } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { useConnection } from '../app/context.ts';
import type { ProviderRow } from '../../ipc/contracts/rpcSettings.ts';
import { Button } from '../ui/button.tsx';
import { Command } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';

/** Ports of this machine and lists of hosts are asked. */
const LOOK_LIMIT_MS = 30_000;
/** Servers that run on one's own machine. */
const LOCAL = new Set(['ollama', 'lmstudio', 'llamacpp']);

export function FirstRun() {
  const connection = useConnection();
  const queries = useQueryClient();
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState<string | null>(null);
  const use = async (value: string) => {
    setBusy(value);
    setError(null);
    try {
      await connection.call('config.set', { key: 'model', value, scope: 'global' });
      await queries.invalidateQueries({ queryKey: ['setup'] });
    } catch (thrown) {
      setError(thrown as Error);
    } finally {
      setBusy(null);
    }
  };
  return (
    <div className="my-auto grid gap-6 py-6">
      <div className="grid gap-2">
        <h2 className="font-serif text-4xl leading-tight font-semibold tracking-tight text-balance">Who shall answer?</h2>
        <p className="max-w-prose text-soft">The service runs; it has no model yet. Choose one of three ways; each can be changed later.</p>
      </div>
      {error && <Problem thrown={error} />}
      <ul className="grid gap-3">
        <Way icon={<KeyRound size={20} />} title="A key of a provider" action={<KeyLink />}>
          OpenAI, Anthropic, Google, OpenRouter, or any host that speaks their language. The key stays on this machine, in{' '}
          <Command>.env</Command>.
        </Way>
        <LocalServers busy={busy} onUse={(value) => void use(value)} />
        <Way
          icon={<Drama size={20} />}
          title="The rehearsal model"
          action={
            <Button disabled={busy !== null} onClick={() => void use('demo:rehearsal')}>
              {busy === 'demo:rehearsal' ? 'Setting it up…' : 'Rehearse'}
            </Button>
          }
        >
          Scripted, without network and for free: it follows simple commands and uses the real tools, so that you can look around.
        </Way>
      </ul>
    </div>
  );
}

const KeyLink = () => (
  <Link
    to="/models"
    className="inline-flex h-8 items-center rounded-lg bg-accent px-3 text-sm font-medium whitespace-nowrap text-on-accent hover:bg-accent-strong"
  >
    Add a key
  </Link>
);

function Way({ icon, title, action, children }: { icon: ReactNode; title: string; action: ReactNode; children: ReactNode }) {
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-3 rounded-xl border border-line bg-surface p-4">
      <span className="mt-0.5 text-accent">{icon}</span>
      <div className="grid min-w-0 flex-1 basis-56 gap-1">
        <h3 className="font-semibold">{title}</h3>
        <div className="text-sm text-soft">{children}</div>
      </div>
      {action}
    </li>
  );
}

function LocalServers({ busy, onUse }: { busy: string | null; onUse: (value: string) => void }) {
  const connection = useConnection();
  const { data, isFetching, error, refetch } = useQuery({
    queryKey: ['models', 'local'],
    queryFn: () => connection.call('model.options', { include_unconfigured: true, refresh: true }, LOOK_LIMIT_MS),
  });
  const servers = (data?.providers ?? []).filter(({ kind }) => LOCAL.has(kind));
  const running = servers.filter(({ usable, models }) => usable && models.length > 0);
  return (
    <Way
      icon={<Cpu size={20} />}
      title="A model server on this machine"
      action={
        <Button
          icon={<RotateCw size={14} className={isFetching ? 'animate-turn' : ''} />}
          disabled={isFetching}
          onClick={() => void refetch()}
        >
          {isFetching ? 'Looking…' : 'Look again'}
        </Button>
      }
    >
      {running.length === 0 && !isFetching && (
        <p>
          None answers now. Start Ollama, LM Studio or llama.cpp with a model, then look again. Another address is set under{' '}
          <Link to="/models" className="text-accent underline underline-offset-3">
            Models
          </Link>
          .
        </p>
      )}
      {running.length === 0 && isFetching && <p>Ollama, LM Studio and llama.cpp are looked for.</p>}
      {error && <p className="text-bad">{error.message}</p>}
      {running.map((server) => (
        <LocalServer key={server.name} server={server} busy={busy} onUse={onUse} />
      ))}
    </Way>
  );
}

/** A handful is shown; the others are in the picker. */
const MODELS_SHOWN = 5;

function LocalServer({
  server: { name, models },
  busy,
  onUse,
}: {
  server: ProviderRow;
  busy: string | null;
  onUse: (value: string) => void;
}) {
  return (
    <div className="mt-2 grid gap-1.5">
      <p className="text-ink">{name} is running:</p>
      <p className="flex flex-wrap gap-2">
        {models.slice(0, MODELS_SHOWN).map(({ id }) => (
          <Button key={id} disabled={busy !== null} onClick={() => onUse(`${name}:${id}`)}>
            {busy === `${name}:${id}` ? 'Setting it up…' : `Use ${id}`}
          </Button>
        ))}
      </p>
    </div>
  );
}
