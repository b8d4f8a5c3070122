/** One setting: its words, its box, its default, when a change counts, and the way back to the default. */
import { Link } from '@tanstack/react-router';
import { RotateCcw } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import type { ConfigFieldView } from '../../ipc/contracts/http/config.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { SelectField, SwitchField, TextArea, TextField } from '../ui/field.tsx';
import { parseBox, textOf, whenInForce, type Draft } from './values.ts';

interface ConfigFieldProps {
  name: string;
  field: ConfigFieldView;
  /** As saved; undefined = at its default. */
  value: unknown;
  draft: Draft;
  error: string | undefined;
  disabled: boolean;
  /** Null = back to the default. */
  onChange: (value: unknown, error?: string) => void;
  onYaml: () => void;
}

export function ConfigField({ name, field, value, draft, error, disabled, onChange, onYaml }: ConfigFieldProps) {
  const edited = name in draft;
  const now = edited ? (draft[name] ?? undefined) : value;
  const isSet = now !== undefined;
  // What is typed stays as it is typed, also while it is no value yet.
  const [typed, setTyped] = useState<string | null>(null);
  const box = edited && typed !== null ? typed : textOf(now, field.type);
  const type = (text: string) => {
    setTyped(text);
    const parsed = parseBox(text, field);
    if ('error' in parsed) onChange(text, parsed.error);
    else onChange(parsed.value);
  };
  const hint = (
    <>
      {field.description} <span className="text-faint">{defaultWords(field)}</span>
    </>
  );
  const common = { label: field.label, hint, error, disabled };
  return (
    <div className="grid gap-1 px-4 py-3.5" data-key={name}>
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <Box>
            {field.type === 'boolean' ? (
              <SwitchField
                label={field.label}
                hint={hint}
                disabled={disabled}
                checked={Boolean(now ?? field.default ?? false)}
                onChange={(checked) => onChange(checked)}
              />
            ) : field.type === 'choice' ? (
              <SelectField
                {...common}
                value={isSet ? String(now) : ''}
                onChange={(event) => onChange(event.target.value === '' ? null : event.target.value)}
                choices={[
                  { value: '', label: field.default === null ? 'not set' : `default (${String(field.default)})` },
                  ...(field.options ?? []).map((option) => ({ value: option, label: option })),
                ]}
              />
            ) : field.type === 'list' || field.type === 'map' ? (
              <TextArea
                {...common}
                mono
                rows={Math.min(8, Math.max(2, box.split('\n').length))}
                placeholder={field.type === 'list' ? 'one a line' : 'name: text'}
                value={box}
                onChange={(event) => type(event.target.value)}
              />
            ) : field.type === 'structure' ? (
              <Structure name={name} field={field} value={now} onYaml={onYaml} />
            ) : (
              <TextField
                {...common}
                inputMode={field.type === 'number' ? 'decimal' : 'text'}
                placeholder={field.default === null ? undefined : String(field.default)}
                value={box}
                onChange={(event) => type(event.target.value)}
              />
            )}
          </Box>
        </div>
        <span className="size-8 shrink-0">
          {isSet && field.type !== 'structure' && !disabled && (
            <IconButton
              label={`${field.label}: back to the default`}
              onClick={() => {
                setTyped(null);
                onChange(null);
              }}
            >
              <RotateCcw size={15} />
            </IconButton>
          )}
        </span>
      </div>
      <p className="flex flex-wrap gap-x-3 text-xs text-faint">
        <span className="font-mono">{name}</span>
        <span>{whenInForce(field)}</span>
        {edited && <span className="font-medium text-accent">not saved yet</span>}
      </p>
    </div>
  );
}

const Box = ({ children }: { children: ReactNode }) => <div className="max-w-xl">{children}</div>;

function defaultWords({ type, default: value }: ConfigFieldView): string {
  if (value === null || value === undefined || type === 'structure') return '';
  return `Default: ${type === 'boolean' ? (value ? 'on' : 'off') : textOf(value, type)}.`;
}

/** What has names of its own inside has a place of its own, or is written as YAML. */
const placesOf: Readonly<Record<string, { to: '/models' | '/platforms' | '/mcp'; label: string }>> = {
  providers: { to: '/models', label: 'Models' },
  auxiliary: { to: '/models', label: 'Models' },
  platforms: { to: '/platforms', label: 'Platforms' },
  mcp_servers: { to: '/mcp', label: 'MCP' },
};

function Structure({ name, field, value, onYaml }: { name: string; field: ConfigFieldView; value: unknown; onYaml: () => void }) {
  const names = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const place = placesOf[name];
  return (
    <div className="grid gap-1.5">
      <p className="text-sm font-medium">{field.label}</p>
      <p className="text-xs text-soft">{field.description}</p>
      <div className="flex flex-wrap items-center gap-2 text-sm">
        <span className="min-w-0 font-mono break-all text-soft">{names.length > 0 ? names.join(', ') : 'nothing'}</span>
        {place && (
          <Link to={place.to} className="text-accent underline">
            Open {place.label}
          </Link>
        )}
        <Button weight="quiet" aria-label={`${field.label}: edit as YAML`} onClick={onYaml}>
          Edit as YAML
        </Button>
      </div>
    </div>
  );
}
