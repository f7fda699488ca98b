import type { DeliveryItem } from "#plugin-api";

/** The most that a message may have. @source FCM, message limits */
const MAX_BYTES = 4_000;
const DRILL = "Drill: ";
/** How long the service keeps a message for a device that is off, s, where the message says no end. own choice */
const DEFAULT_TTL_S = { emergency: 4 * 3_600, routine: 24 * 3_600 } as const;

/** The request that sends an item to an app's token. @source FCM HTTP v1, projects.messages.send */
export function fcmMessage(item: DeliveryItem, now: number): string {
  const { text, drill, class: kind, notificationId, expiresAt, recipient } = item;
  const isUrgent = kind === "emergency";
  const seconds = expiresAt === null ? DEFAULT_TTL_S[kind] : Math.max(60, Math.ceil((expiresAt - now) / 1_000));
  const make = (body: string): string =>
    JSON.stringify({
      message: {
        token: item.device.deviceIdentifier,
        notification: { title: `${drill ? DRILL : ""}${text.subject}`, body },
        // Values are texts.
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
  while (length > 0 && Buffer.byteLength(make(cutAt(text.body, length))) > MAX_BYTES) length = Math.floor(length * 0.9);
  return make(cutAt(text.body, length));
}

function cutAt(text: string, length: number): string {
  return length >= text.length ? text : `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
