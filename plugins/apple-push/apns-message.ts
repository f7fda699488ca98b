import type { DeliveryItem } from "#plugin-api";

/** Maximum size of a payload. @source APNs, 413 PayloadTooLarge */
const MAX_BYTES = 4_096;
/** Time to live on the service in s, for messages that do not expire. */
const DEFAULT_TTL_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;

/** Payload of a delivery. @source APNs, payload key reference */
export function apnsPayload(item: DeliveryItem, criticalAlerts: boolean): string {
  const { text, drill, class: kind, notificationId, sentAt, recipient } = item;
  const isUrgent = kind === "emergency";
  const isCritical = isUrgent && criticalAlerts && !drill;
  const format = (body: string): string =>
    JSON.stringify({
      aps: {
        alert: {
          title: text.subject,
          body,
        },
        sound: isCritical ? { critical: 1, name: "default", volume: 1 } : "default",
        "interruption-level": isCritical ? "critical" : isUrgent ? "time-sensitive" : "active",
      },
      ...{ notificationId, drill, emergency: isUrgent, sentAt },
      ...(recipient?.answers ? { answerUrl: recipient.answers.url } : {}),
    });
  let length = text.body.length;
  while (length > 0 && Buffer.byteLength(format(truncate(text.body, length))) > MAX_BYTES)
    length = Math.floor(length * 0.9);
  return format(truncate(text.body, length));
}

/** Request headers of a delivery, without the token. @source APNs, sending notification requests */
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

function truncate(text: string, length: number): string {
  return length >= text.length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
