/** Buttons: one look, three weights. An icon alone always carries a label. */
import type { ButtonHTMLAttributes, ReactNode } from 'react';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  weight?: 'plain' | 'quiet' | 'strong';
  icon?: ReactNode;
}

const weights = {
  strong: 'bg-accent text-on-accent hover:bg-accent-strong',
  plain: 'border border-edge bg-surface text-ink hover:bg-sunken',
  quiet: 'text-soft hover:bg-sunken hover:text-ink',
} as const;

export function Button({ weight = 'plain', icon, className = '', children, type = 'button', ...rest }: ButtonProps) {
  return (
    <button
      type={type}
      className={`inline-flex h-8 items-center gap-2 rounded-lg px-3 text-sm font-medium whitespace-nowrap transition-colors disabled:pointer-events-none disabled:opacity-50 ${weights[weight]} ${className}`}
      {...rest}
    >
      {icon}
      {children}
    </button>
  );
}

export function IconButton({ label, weight = 'quiet', className = '', children, ...rest }: ButtonProps & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={`inline-flex size-8 shrink-0 items-center justify-center rounded-lg transition-colors pointer-coarse:size-10 disabled:pointer-events-none disabled:opacity-50 ${weights[weight]} ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}
