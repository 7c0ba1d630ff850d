import { createHmac } from 'node:crypto';

/**
 * A lane's own login on a server that is given once for all lanes: same host and database, the lane's role,
 * and a password derived from the server's, so that provisioning and every process arrive at the same one.
 */
export function laneUrlFromServerUrl(serverUrl: string, role: string): string {
  const url = new URL(serverUrl);
  const password = createHmac('sha256', decodeURIComponent(url.password)).update(`payment-core:${role}`);
  url.username = role;
  url.password = password.digest('base64url');
  return url.toString();
}
