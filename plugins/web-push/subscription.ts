import type { DeliveryItem } from "#plugin-api";

/** What a browser hands out to be reached by. @source W3C Push API, PushSubscription */
export interface WebPushSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

/** 65 and 16 bytes in base64url. @source RFC 8291 §3.1, §3.2 */
const KEYS = /^([A-Za-z0-9_-]{87})\.([A-Za-z0-9_-]{22})$/;

/**
 * The subscription of a person's device: its identifier is the push service's address for the browser, the app's own id
 * the browser's two keys, `p256dh.auth`. Null for what is none.
 */
export function parseSubscription({
  deviceIdentifier,
  attributes,
}: DeliveryItem["device"]): WebPushSubscription | null {
  const [, p256dh, auth] = KEYS.exec(attributes.ClientIdentifier ?? "") ?? [];
  if (!p256dh || !auth || !URL.canParse(deviceIdentifier)) return null;
  const { protocol, hostname } = new URL(deviceIdentifier);
  // Nobody but a test stands on this machine.
  const isSecure = protocol === "https:" || (protocol === "http:" && hostname === "127.0.0.1");
  return isSecure ? { endpoint: deviceIdentifier, keys: { p256dh, auth } } : null;
}
