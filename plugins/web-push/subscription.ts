import type { DeliveryItem } from "#plugin-api";

/** A browser's push subscription. @source W3C Push API, PushSubscription */
export interface WebPushSubscription {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

/** `p256dh.auth`: 65 and 16 bytes in base64url. @source RFC 8291 §3.1, §3.2 */
const KEYS = /^([A-Za-z0-9_-]{87})\.([A-Za-z0-9_-]{22})$/;

/**
 * Subscription of a person's device: the identifier is the push service's URL for the browser, the client identifier
 * its keys `p256dh.auth`. Null if invalid.
 */
export function parseSubscription({
  deviceIdentifier,
  attributes,
}: DeliveryItem["device"]): WebPushSubscription | null {
  const [, p256dh, auth] = KEYS.exec(attributes.ClientIdentifier ?? "") ?? [];
  if (!p256dh || !auth || !URL.canParse(deviceIdentifier)) return null;
  const { protocol, hostname } = new URL(deviceIdentifier);
  // Plain HTTP is allowed on loopback for tests only.
  const isSecure = protocol === "https:" || (protocol === "http:" && hostname === "127.0.0.1");
  return isSecure ? { endpoint: deviceIdentifier, keys: { p256dh, auth } } : null;
}
