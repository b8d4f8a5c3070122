/** The model of new conversations: its name, what it can, how much it thinks, and what takes over when it fails. */
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { request } from '../api.ts';
import { sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { SelectField } from '../ui/field.tsx';
import { Badge, Notice, WithCode } from '../ui/notice.tsx';
import { Card, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { ModelPicker } from './modelPicker.tsx';
import { useAskAgain, useModelInfo, type Answer } from './queries.ts';

type Info = Answer<'GET /api/model/info'>;

export function MainModel({ onProviders }: { onProviders: () => void }) {
  const { data, error, refetch } = useModelInfo();
  const [picking, setPicking] = useState(false);
  return (
    <Section
      title="Main model"
      lead="Answers new conversations, on every surface of this profile."
      actions={data && <Button onClick={() => setPicking(true)}>{data.model ? 'Change model' : 'Choose a model'}</Button>}
    >
      {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={9} />}
      {data && <Current info={data} onProviders={onProviders} />}
      {data && <Names info={data} />}
      <ModelPicker open={picking} onClose={() => setPicking(false)} purpose={{ scope: 'main' }} current={data ?? null} />
    </Section>
  );
}

function Current({ info, onProviders }: { info: Info; onProviders: () => void }) {
  const { provider, model, scripted, problem, capabilities } = info;
  if (model === null) {
    return (
      <Notice tone="warn" title="No model answers yet" actions={<Button onClick={onProviders}>Set up a provider</Button>}>
        {problem && <WithCode text={sentence(problem)} />}
      </Notice>
    );
  }
  return (
    <Card className="grid gap-4">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <span className="min-w-0 font-mono text-lg break-all">{model}</span>
        <span className="text-sm text-soft">of {provider}</span>
        {scripted && <Badge tone="warn">scripted rehearsal</Badge>}
      </div>
      <dl className="flex flex-wrap gap-x-8 gap-y-2 text-sm">
        <Fact name="Window">{windowOf(info)}</Fact>
        <Fact name="Longest answer">{tokens(capabilities.max_output_tokens)}</Fact>
        <Fact name="Images">{capabilities.supports_vision ? 'sees them' : 'does not see them'}</Fact>
        <Fact name="Tools">{capabilities.supports_tools ? 'uses them' : 'does not use them'}</Fact>
      </dl>
      {problem && (
        <Notice tone="warn">
          <WithCode text={sentence(problem)} />
        </Notice>
      )}
      <Reasoning key={`${provider} ${model} ${info.reasoning.asked}`} info={info} />
    </Card>
  );
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <dt className="text-xs text-soft">{name}</dt>
    <dd className="tabular-nums">{children}</dd>
  </div>
);

function windowOf({ effective_context_length: length, config_context_length: written }: Info): string {
  return `${tokens(length)}${written === null ? '' : ', as config.yaml says'}`;
}

export const tokens = (count: number | null): string =>
  count === null
    ? 'not known'
    : count >= 1_000_000
      ? `${Number((count / 1_000_000).toFixed(1))} M tokens`
      : `${Math.round(count / 1_000)} k tokens`;

const everyLevel = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

function Reasoning({ info: { reasoning, scripted } }: { info: Info }) {
  const profile = useProfile();
  const again = useAskAgain();
  const change = useMutation({
    mutationFn: (level: (typeof everyLevel)[number] | 'default') =>
      request('POST /api/model/set', { query: { profile }, body: { scope: 'main', reasoning_effort: level } }),
    onSuccess: ({ warning }) => toast(warning ? sentence(warning) : 'Reasoning changed; the next turn uses it'),
    onSettled: again,
  });
  if (scripted) return null;
  const { asked, sent, levels } = reasoning;
  const hint =
    levels.length === 0
      ? 'This model has no levels: none is sent.'
      : asked !== null && asked !== sent
        ? `This model has no level ${asked}: ${sent ?? 'none'} is sent.`
        : undefined;
  return (
    <div className="grid max-w-xs gap-2">
      <SelectField
        label="Reasoning"
        hint={hint}
        value={change.isPending ? change.variables : (asked ?? 'default')}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.value as (typeof everyLevel)[number] | 'default')}
        choices={[{ value: 'default', label: "the model's own" }, ...everyLevel.map((level) => ({ value: level, label: level }))]}
      />
      {change.error && <Problem thrown={change.error} />}
    </div>
  );
}

/** What takes over, and short names: written in Config, shown here. */
function Names({ info: { fallback_providers: fallbacks, aliases } }: { info: Info }) {
  const names = Object.entries(aliases);
  return (
    <p className="text-sm text-soft">
      {fallbacks.length > 0 ? (
        <>
          When it fails: <span className="font-mono text-ink">{fallbacks.join(', then ')}</span>.{' '}
        </>
      ) : (
        'Nothing takes over when it fails. '
      )}
      {names.length > 0 && (
        <>
          Short names:{' '}
          {names.map(([alias, model], at) => (
            <span key={alias}>
              {at > 0 && ', '}
              <span className="font-mono text-ink">{alias}</span> for <span className="font-mono">{model}</span>
            </span>
          ))}
          .{' '}
        </>
      )}
      Changed in{' '}
      <Link to="/config" className="text-accent underline">
        Config
      </Link>
      .
    </p>
  );
}
