import { createHmac, randomBytes } from "node:crypto";

/** Prefix of the text form of a key. @source Standard Webhooks 1.0, Signature scheme */
const SECRET_PREFIX = "whsec_";
const KEY_BYTES = 32;
/** @source Standard Webhooks 1.0, Signature scheme: between 24 and 64 bytes */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;

/** A new key: `whsec_` and 256 random bits in base64. */
export function generateWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(KEY_BYTES).toString("base64");
}

/** True for a key in text form. */
export function isWebhookSecret(text: string): boolean {
  const bytes = Buffer.from(text.slice(SECRET_PREFIX.length), "base64");
  const isText = text.startsWith(SECRET_PREFIX) && bytes.toString("base64") === text.slice(SECRET_PREFIX.length);
  return isText && bytes.length >= MIN_KEY_BYTES && bytes.length <= MAX_KEY_BYTES;
}

/** A message as it is signed. */
export interface SignedMessage {
  /** The same for every try to deliver it. */
  id: string;
  /** Epoch ms of this try. */
  at: number;
  body: string;
}

/**
 * The three headers of a signed message, one signature per key, the newest key first.
 * @source Standard Webhooks 1.0, Webhook headers and Signature scheme
 */
export function signatureHeaders({ id, at, body }: SignedMessage, secrets: readonly string[]): Record<string, string> {
  const seconds = String(Math.floor(at / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
    return `v1,${createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": signatures.join(" ") };
}
