/** `profile` of a request's query or body (interface spec, http.16): nothing, null and "" name none. */
import { z } from '../../../base/lazyZod.ts';

export const Profile = z.string().max(64).nullish();
