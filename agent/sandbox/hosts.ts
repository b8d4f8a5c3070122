/** Which hosts a sandboxed session may reach: `example.org`, `*.example.org`, an address, each with an optional port. */
import { isIP } from 'node:net';

export interface HostRequest {
  /** As the client named it; an IPv6 address without brackets. */
  host: string;
  port: number;
}

/** `literal`: the rule names an address of this machine or network itself, so it may be private. */
export type HostVerdict = { allowed: false } | { allowed: true; literal: boolean };

const WEB_PORTS: readonly number[] = [80, 443];

export function judgeHost(rules: readonly string[], { host, port }: HostRequest): HostVerdict {
  const name = host.toLowerCase().replace(/\.$/, '');
  for (const rule of rules) {
    const parsed = parseRule(rule);
    if (!(parsed.port === undefined ? WEB_PORTS.includes(port) : parsed.port === port)) continue;
    if (parsed.name.startsWith('*.')) {
      if (isIP(name) === 0 && name.endsWith(parsed.name.slice(1))) return { allowed: true, literal: false };
    } else if (parsed.name === name) return { allowed: true, literal: isIP(name) !== 0 || name === 'localhost' };
  }
  return { allowed: false };
}

function parseRule(rule: string): { name: string; port: number | undefined } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+|[^:]*:.*:[^:]*?))(?::(\d+))?$/.exec(rule.trim().toLowerCase()) ?? [];
  return { name: bracketed ?? plain ?? '', port: port === undefined ? undefined : Number(port) };
}
