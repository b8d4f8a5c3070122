/** Copies a text and says so for a moment. */
import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { IconButton } from './button.tsx';

export function CopyButton({ text, label, className = '' }: { text: string; label: string; className?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const back = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(back);
  }, [copied]);
  // Browsers offer the clipboard on secure addresses only.
  if (!navigator.clipboard) return null;
  return (
    <IconButton
      label={copied ? 'Copied' : label}
      className={className}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      {copied ? <Check size={14} /> : <Copy size={14} />}
    </IconButton>
  );
}
