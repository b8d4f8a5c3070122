/** What the dashboard worker answers on its socket, beside what every worker answers. */
import { z } from '../../base/lazyZod.ts';
import { method } from '../method.ts';

/** A code for one login address, good for a minute and once; null when people sign in instead. */
export const loginCode = method('dashboard.login_code', { params: z.object({}), result: z.object({ code: z.string().nullable() }) });
