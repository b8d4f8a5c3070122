/** Parts of a form: each carries its label, its hint and its error, joined for a screen reader. */
import { Switch } from '@base-ui/react/switch';
import { Eye, EyeOff } from 'lucide-react';
import { useId, useState, type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, type TextareaHTMLAttributes } from 'react';
import { IconButton } from './button.tsx';
import { WithCode } from './notice.tsx';

const box =
  'w-full min-w-0 rounded-lg border border-edge bg-paper px-3 text-sm text-ink placeholder:text-faint aria-invalid:border-bad disabled:opacity-60';

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

function Field({ label, hint, error, id, children }: FieldProps & { id: string; children: ReactNode }) {
  return (
    <div className="grid min-w-0 content-start gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children}
      {hint && (
        <div id={`${id}-hint`} className="text-xs text-soft">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-xs text-bad">
          <WithCode text={error} />
        </p>
      )}
    </div>
  );
}

const described = (id: string, { hint, error }: Pick<FieldProps, 'hint' | 'error'>) => ({
  'aria-describedby': [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ') || undefined,
  'aria-invalid': error ? true : undefined,
});

type Native<T> = Omit<T, 'id' | 'className'>;

interface TextFieldLook {
  /** A command, a path, an address: `literal`, in letters of one width. */
  mono?: boolean;
  /** A name or a key: the browser does not correct, capitalize or remember it. */
  literal?: boolean;
}

export function TextField({
  label,
  hint,
  error,
  mono = false,
  literal = mono,
  ...rest
}: FieldProps & TextFieldLook & Native<InputHTMLAttributes<HTMLInputElement>>) {
  const id = useId();
  return (
    <Field {...{ label, hint, error, id }}>
      <input
        id={id}
        className={`${box} h-9 ${mono ? 'font-mono' : ''}`}
        {...(literal ? { spellCheck: false, autoComplete: 'off', autoCapitalize: 'off' } : {})}
        {...described(id, { hint, error })}
        {...rest}
      />
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  error,
  mono = false,
  ...rest
}: FieldProps & { mono?: boolean } & Native<TextareaHTMLAttributes<HTMLTextAreaElement>>) {
  const id = useId();
  return (
    <Field {...{ label, hint, error, id }}>
      <textarea id={id} rows={4} className={`${box} py-2 ${mono ? 'font-mono' : ''}`} {...described(id, { hint, error })} {...rest} />
    </Field>
  );
}

export interface Choice {
  value: string;
  label: string;
}

/** The browser's own list: keyboard, screen reader and phone know it already. */
export function SelectField({
  label,
  hint,
  error,
  choices,
  ...rest
}: FieldProps & { choices: readonly Choice[] } & Native<SelectHTMLAttributes<HTMLSelectElement>>) {
  const id = useId();
  return (
    <Field {...{ label, hint, error, id }}>
      <select id={id} className={`${box} h-9`} {...described(id, { hint, error })} {...rest}>
        {choices.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** A secret is typed unseen; nothing of the browser remembers it. */
export function SecretField({ label, hint, error, ...rest }: FieldProps & Native<InputHTMLAttributes<HTMLInputElement>>) {
  const id = useId();
  const [shown, setShown] = useState(false);
  return (
    <Field {...{ label, hint, error, id }}>
      <div className="flex items-center gap-1">
        <input
          id={id}
          type={shown ? 'text' : 'password'}
          autoComplete="off"
          spellCheck={false}
          data-1p-ignore
          className={`${box} h-9 font-mono`}
          {...described(id, { hint, error })}
          {...rest}
        />
        <IconButton label={shown ? 'Hide what is typed' : 'Show what is typed'} onClick={() => setShown(!shown)}>
          {shown ? <EyeOff size={16} /> : <Eye size={16} />}
        </IconButton>
      </div>
    </Field>
  );
}

interface SwitchFieldProps {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
}

export function SwitchField({ label, hint, checked, disabled = false, onChange }: SwitchFieldProps) {
  return (
    <label className="flex items-center gap-4">
      <span className="min-w-0 flex-1">
        <span className="block text-sm font-medium">{label}</span>
        {hint && <span className="block text-sm text-soft">{hint}</span>}
      </span>
      <Toggle {...{ checked, disabled, onChange }} />
    </label>
  );
}

/** The switch alone, inside a label or with `label` as its name. */
export function Toggle({
  label,
  checked,
  disabled,
  onChange,
}: {
  label?: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <Switch.Root
      checked={checked}
      disabled={disabled ?? false}
      onCheckedChange={onChange}
      {...(label === undefined ? {} : { 'aria-label': label })}
      className="relative h-6 w-11 shrink-0 rounded-full bg-edge transition-colors data-checked:bg-accent data-disabled:opacity-50"
    >
      <Switch.Thumb className="block size-5 translate-x-0.5 rounded-full bg-[#fffefc] shadow transition-transform data-checked:translate-x-[1.375rem]" />
    </Switch.Root>
  );
}
