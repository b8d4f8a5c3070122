/** The socket of an IRC connection with what irc-framework has no option for: an authority of one's own, and a pinned certificate. */
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import NetTransport from 'irc-framework/src/transports/net.js';
import { AgentError } from '../../../base/errors.ts';

/** The state of a transport whose socket is being opened. */
const CONNECTING = 1;

export class IrcTransport extends NetTransport {
  override connect(): void {
    const { host, port, tls, ca, fingerprint, rejectUnauthorized } = this.options;
    if (!tls) return super.connect();
    this.disposeSocket();
    this.incoming_buffer = Buffer.alloc(0);
    this.state = CONNECTING;
    this.socket = connect({
      host,
      port,
      ...(isIP(host) ? {} : { servername: host }),
      ...(ca === undefined ? {} : { ca }),
      // A pinned certificate proves the server, whoever signed it.
      rejectUnauthorized: rejectUnauthorized !== false && fingerprint === undefined,
    });
    this._onSocketCreate(this.options, this.socket);
  }

  /** Nothing is written before: a password must not reach another server. */
  override onSocketFullyConnected(): void {
    const { tls, fingerprint } = this.options;
    if (tls && fingerprint !== undefined) {
      const shown = (this.socket as TLSSocket).getPeerCertificate().fingerprint256 ?? '';
      if (bare(shown) !== bare(fingerprint)) return void this.socket!.destroy(otherCertificate(shown));
    }
    super.onSocketFullyConnected();
  }
}

const bare = (fingerprint: string): string => fingerprint.replaceAll(':', '').toLowerCase();

const otherCertificate = (shown: string): AgentError =>
  new AgentError('PLATFORM_DOWN', `the server shows another certificate than platforms.irc.tls_fingerprint: ${shown}`, {
    fix: 'set platforms.irc.tls_fingerprint to it if the operator of the server confirms it',
  });

/** Tried again, as a network that asks for its own sign-in first shows such certificates too. Undefined: it was not the certificate. */
export function certificateError(host: string, thrown: unknown): AgentError | undefined {
  if (thrown instanceof AgentError) return thrown;
  const code = (thrown as { code?: unknown } | null)?.code;
  if (typeof code !== 'string' || !(code in FIXES)) return undefined;
  return new AgentError('PLATFORM_DOWN', `the certificate of ${host} is not accepted (${code})`, { cause: thrown, fix: FIXES[code]! });
}

const UNKNOWN_AUTHORITY = 'set platforms.irc.tls_ca to the PEM file of its authority, or platforms.irc.tls_fingerprint to its SHA-256';
const FIXES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_AUTHORITY,
  ERR_TLS_CERT_ALTNAME_INVALID: 'set platforms.irc.host to a name in the certificate, or platforms.irc.tls_fingerprint to its SHA-256',
};
