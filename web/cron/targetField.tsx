/** Where a result goes: the platforms that are configured are offered, anything of the right shape may be written. */
import { useId } from 'react';
import { TextField } from '../ui/field.tsx';
import { useTargets } from './cronData.ts';

interface TargetFieldProps {
  label?: string;
  value: string;
  onChange: (event: { target: { value: string } }) => void;
  error: string | undefined;
}

export function TargetField({ label = 'Where does the result go?', value, onChange, error }: TargetFieldProps) {
  const list = useId();
  const targets = useTargets().data?.targets ?? [];
  return (
    <>
      <TextField
        {...{ label, value, onChange, error, list }}
        hint={
          <>
            <span className="font-mono">local</span> is a file that you read here; <span className="font-mono">irc</span> or{' '}
            <span className="font-mono">irc:#room</span> is a chat; several with commas.
          </>
        }
        mono
      />
      <datalist id={list}>
        {targets.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}
