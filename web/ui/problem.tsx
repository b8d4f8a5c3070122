/** An error of a call as a box: what went wrong, and what to do. */
import { ApiError } from '../api.ts';
import { CallError } from '../callError.ts';
import { sentence } from '../app/format.ts';
import { Button } from './button.tsx';
import { Notice, WithCode } from './notice.tsx';

interface ProblemProps {
  thrown: Error;
  /** Offers another try. */
  onRetry?: () => void;
}

export function Problem({ thrown, onRetry }: ProblemProps) {
  const known = thrown instanceof ApiError || thrown instanceof CallError;
  const fix = known ? thrown.fix : 'The dashboard does not answer at the moment.';
  const fields = thrown instanceof ApiError ? thrown.errors : [];
  return (
    <Notice
      tone="bad"
      title={known ? sentence(thrown.message) : 'Not reached'}
      actions={onRetry && <Button onClick={onRetry}>Try again</Button>}
    >
      {fix && (
        <p>
          <WithCode text={sentence(fix)} />
        </p>
      )}
      {fields.length > 1 && (
        <ul className="list-disc pl-5">
          {fields.map(({ path, message }) => (
            <li key={path}>
              <span className="font-mono">{path}</span>: <WithCode text={message} />
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
