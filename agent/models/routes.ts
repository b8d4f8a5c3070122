/**
 * Ways to a model that lead nowhere: a request on the wrong inference host answers 400 and a dark free tier 403, each
 * time again (interface spec, Errors). Such a way is not tried again in the life of the process.
 */
import type { EndpointSettings } from './kinds.ts';

/** The model of the free tier's own host, and the name its provider goes by. */
export const welcome = { provider: 'portal', model: 'portal/welcome' } as const;

/** Names the model that stands behind the welcome model; the session moves to it. */
export const SWITCH_HEADER = 'x-portal-model-switch';

export interface WelcomeHosts {
  /** Host names, lower case. */
  has(host: string): boolean;
}

/** Told by the host that is asked, never by what a profile says of itself. */
export function isWelcome({ baseUrl }: Pick<EndpointSettings, 'baseUrl'>, hosts: WelcomeHosts): boolean {
  return URL.canParse(baseUrl) && hosts.has(new URL(baseUrl).hostname.toLowerCase());
}

export class AbandonedRoutes {
  #why = new Map<string, string>();

  abandon(settings: EndpointSettings, why: string): void {
    this.#why.set(nameOf(settings), why);
  }

  /** Why this way is closed; undefined = it is open. */
  why(settings: EndpointSettings): string | undefined {
    return this.#why.get(nameOf(settings));
  }
}

const nameOf = ({ baseUrl, model }: EndpointSettings): string => `${baseUrl}\0${model}`;
