import type { DeliveryItem } from "#plugin-api";

/**
 * 4,096 bytes minus the overhead of encryption: 86 bytes of salt, key and header, 17 of tag and padding.
 * @source RFC 8291 §4
 */
const MAX_BYTES = 3_993;

/** Payload for the page's service worker. */
export interface WebPushPayload {
  /** Notification id; a later message with the same id replaces it on the screen. */
  id: string;
  subject: string;
  /** Truncated to fit. */
  body: string;
  emergency: boolean;
  drill: boolean;
  sentAt: number;
  /** Page with the full text and the response options, without login; null without response options. */
  answerUrl: string | null;
  options: readonly string[];
  /** Sent to `/x/web-push/receipt`, it proves display or response. */
  receipt: string;
}

/** Payload of one device, at most 3,993 bytes; `shortest` omits the text, which the page has. */
export function webPushPayload(item: DeliveryItem, receipt: string, shortest = false): string {
  const { text, drill, sentAt, recipient } = item;
  const { options = [], url = null } = recipient?.answers ?? {};
  const whole: WebPushPayload = {
    ...{ id: item.notificationId, subject: text.subject, body: shortest ? "" : text.body },
    ...{ emergency: item.class === "emergency", drill, sentAt, answerUrl: url, options, receipt },
  };
  return shortenToFit(fits(JSON.stringify({ ...whole, body: "" })) ? whole : { ...whole, options: [] });
}

function shortenToFit(payload: WebPushPayload): string {
  const { body } = payload;
  let [fitting, tooLong] = [0, body.length + 1];
  while (tooLong - fitting > 1) {
    const middle = (fitting + tooLong) >> 1;
    if (fits(JSON.stringify({ ...payload, body: truncate(body, middle) }))) fitting = middle;
    else tooLong = middle;
  }
  return JSON.stringify({ ...payload, body: truncate(body, fitting) });
}

/** Drops a character that was cut in half. */
function truncate(text: string, length: number): string {
  if (length >= text.length) return text;
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_BYTES;
}
