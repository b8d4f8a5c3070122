/** A JWKS address on loopback and its signer: what an issuer of tokens shows, and tokens as it and others make them. */
import { createHmac, generateKeyPairSync, sign as signBytes, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface KeyPair {
  kid: string | undefined;
  alg: 'RS256' | 'PS256' | 'ES256' | 'EdDSA';
  privateKey: KeyObject;
  publicKey: KeyObject;
}

export function keyPair(alg: KeyPair['alg'] = 'ES256', kid: string | undefined = 'first', rsaBits = 2_048): KeyPair {
  if (alg === 'ES256') return { kid, alg, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
  if (alg === 'EdDSA') return { kid, alg, ...generateKeyPairSync('ed25519') };
  return { kid, alg, ...generateKeyPairSync('rsa', { modulusLength: rsaBits }) };
}

export const jwkOf = ({ kid, alg, publicKey }: KeyPair): object => ({ ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' });

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** `head` stands over what the key would write. */
export function tokenOf(pair: KeyPair, claims: object, head: object = {}): string {
  const { alg, kid, privateKey } = pair;
  const text = `${part({ alg, kid, typ: 'JWT', ...head })}.${part(claims)}`;
  const bytes = Buffer.from(text);
  const signature =
    alg === 'EdDSA'
      ? signBytes(null, bytes, privateKey)
      : alg === 'ES256'
        ? signBytes('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })
        : signBytes('sha256', bytes, alg === 'PS256' ? { key: privateKey, padding: 6, saltLength: 32 } : privateKey);
  return `${text}.${signature.toString('base64url')}`;
}

/** The classic confusion: an HMAC whose secret is the public key that everybody can read. */
export function hmacTokenOf(pair: KeyPair, claims: object): string {
  const text = `${part({ alg: 'HS256', kid: pair.kid })}.${part(claims)}`;
  const secret = pair.publicKey.export({ type: 'spki', format: 'pem' });
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

export interface KeyServer extends AsyncDisposable {
  address: string;
  /** What it shows from now on. */
  keys: object[];
  /** How often it was asked. */
  asked: number;
  /** Other than 200: the answer has no keys. */
  status: number;
}

export async function keyServer(...keys: object[]): Promise<KeyServer> {
  const server = createServer((_request, response) => {
    shown.asked++;
    response.writeHead(shown.status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(shown.status === 200 ? { keys: shown.keys } : {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const shown: KeyServer = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`,
    keys,
    asked: 0,
    status: 200,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, 'close');
    },
  };
  return shown;
}
