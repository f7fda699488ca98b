import type { DeliveryItem } from "#plugin-api";

/** The most that a message may have. @source APNs, 413 PayloadTooLarge */
const MAX_BYTES = 4_096;
const DRILL = "Drill: ";
/** How long the service keeps a message for a device that is off, s, where the message says no end. own choice */
const DEFAULT_TTL_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;

/** The JSON of an item. @source APNs, payload key reference */
export function apnsPayload(item: DeliveryItem, criticalAlerts: boolean): string {
  const { text, drill, class: kind, notificationId, sentAt, recipient } = item;
  const isUrgent = kind === "emergency";
  const isCritical = isUrgent && criticalAlerts && !drill;
  const make = (body: string): string =>
    JSON.stringify({
      aps: {
        alert: { title: `${drill ? DRILL : ""}${text.subject}`, body },
        sound: isCritical ? { critical: 1, name: "default", volume: 1 } : "default",
        "interruption-level": isCritical ? "critical" : isUrgent ? "time-sensitive" : "active",
      },
      ...{ notificationId, drill, emergency: isUrgent, sentAt },
      ...(recipient?.answers ? { answerUrl: recipient.answers.url } : {}),
    });
  let length = text.body.length;
  while (length > 0 && Buffer.byteLength(make(cutAt(text.body, length))) > MAX_BYTES) length = Math.floor(length * 0.9);
  return make(cutAt(text.body, length));
}

/** The headers of an item beside the token's. @source APNs, sending notification requests */
export function apnsHeaders({ notificationId, class: kind, expiresAt }: DeliveryItem, topic: string, now: number) {
  const until = expiresAt ?? now + DEFAULT_TTL_S[kind] * 1_000;
  return {
    "apns-topic": topic,
    "apns-push-type": "alert",
    "apns-priority": "10",
    "apns-expiration": String(Math.ceil(until / 1_000)),
    "apns-collapse-id": notificationId,
  };
}

function cutAt(text: string, length: number): string {
  return length >= text.length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
