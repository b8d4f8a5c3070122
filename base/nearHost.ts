/** Whether a host of a URL is this machine or a network that only it and its neighbours reach. Decides on patience, never on trust. */

const NEAR_IPV4 = /^(?:127|10)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\.|^169\.254\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./;
/** Unique local, link-local, loopback. */
const NEAR_IPV6 = /^\[(?:f[cd]|fe[89ab]|::1\])/i;
/** Names without a dot are of the own network, and so are these. */
const NEAR_NAME = /^[^.:[\]]+$|(?:^|\.)(?:localhost|local|lan|internal|home\.arpa)$/i;

export const isNearHost = (host: string): boolean =>
  host !== '' && (/^[\d.]+$/.test(host) ? NEAR_IPV4.test(host) : host.startsWith('[') ? NEAR_IPV6.test(host) : NEAR_NAME.test(host));
