import type { DeliveryItem } from "#plugin-api";

/** A message of 4,096 bytes less what encryption adds: salt, key and head of 86, tag and padding of 17. @source RFC 8291 §4 */
const MAX_BYTES = 3_993;

/** What the service worker of the recipient's page gets. */
export interface WebPushPayload {
  /** Id of the notification; a later message with the same one takes its place on the screen. */
  id: string;
  subject: string;
  /** As much as fits. */
  body: string;
  emergency: boolean;
  drill: boolean;
  sentAt: number;
  /** Where the rest stands, and where it is answered without a log-in; null when it asks nothing. */
  answerUrl: string | null;
  options: readonly string[];
  /** Shown to `/x/web-push/receipt`, it proves that the message was shown or answered. */
  receipt: string;
}

/** The JSON for one device, at most 3,993 bytes; `shortest` leaves the text to the page. */
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
    if (fits(JSON.stringify({ ...payload, body: cutAt(body, middle) }))) fitting = middle;
    else tooLong = middle;
  }
  return JSON.stringify({ ...payload, body: cutAt(body, fitting) });
}

/** What a cut leaves of a character is dropped. */
function cutAt(text: string, length: number): string {
  if (length >= text.length) return text;
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= MAX_BYTES;
}
