import type { DeliveryItem } from "#plugin-api";

/** Maximum size of a message. @source Firebase Cloud Messaging documentation, message limits */
const MAX_BYTES = 4_000;
/** Time to live on the service in s, for messages that do not expire. */
const DEFAULT_TTL_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;

/** Request body for an app's registration token. @source FCM HTTP v1 API, projects.messages.send */
export function fcmMessage(item: DeliveryItem, now: number): string {
  const { text, drill, class: kind, notificationId, expiresAt, recipient } = item;
  const isUrgent = kind === "emergency";
  const seconds = expiresAt === null ? DEFAULT_TTL_S[kind] : Math.max(60, Math.ceil((expiresAt - now) / 1_000));
  const format = (body: string): string =>
    JSON.stringify({
      message: {
        token: item.device.deviceIdentifier,
        notification: {
          title: text.subject,
          body,
        },
        // FCM data values must be strings.
        data: {
          ...{ notificationId, drill: String(drill), emergency: String(isUrgent), sentAt: String(item.sentAt) },
          ...(recipient?.answers ? { answerUrl: recipient.answers.url } : {}),
        },
        android: {
          priority: isUrgent ? "HIGH" : "NORMAL",
          ttl: `${seconds}s`,
          collapse_key: notificationId,
          notification: {
            ...{ tag: notificationId, channel_id: isUrgent ? "emergency" : "messages", sound: "default" },
            notification_priority: isUrgent ? "PRIORITY_MAX" : "PRIORITY_DEFAULT",
            visibility: "PUBLIC",
          },
        },
      },
    });
  let length = text.body.length;
  while (length > 0 && Buffer.byteLength(format(truncate(text.body, length))) > MAX_BYTES)
    length = Math.floor(length * 0.9);
  return format(truncate(text.body, length));
}

function truncate(text: string, length: number): string {
  return length >= text.length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
