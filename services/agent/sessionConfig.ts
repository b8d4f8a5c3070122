/** The configuration of a session: in safe mode, of config.yaml only where models are reached. */
import type { Config } from '../../state/config/schema.ts';
import type { WorkerContext } from '../worker.ts';

export function sessionConfig({ config }: Pick<WorkerContext, 'config'>, session?: { safe_mode?: number | undefined }): Config {
  const { config: whole } = config();
  if (session?.safe_mode !== 1) return whole;
  return whole.providers ? { providers: whole.providers } : {};
}
