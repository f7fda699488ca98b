import type { ConfigOf, DeliveryItem } from "#plugin-api";
import { type CapArea, parseCapArea } from "./cap-area.ts";
import type config from "./config.ts";

/** A published alert, immutable, so that its document never changes. Times are epoch ms. */
export interface PublishedAlert {
  /** Name in URLs. */
  name: string;
  notificationId: string;
  identifier: string;
  sender: string;
  sentAt: number;
  status: "Actual" | "Exercise";
  msgType: "Alert" | "Update" | "Cancel";
  scope: "Public" | "Restricted";
  /** Replaced alerts, `sender,identifier,sent` each. */
  references: string[];
  category: string;
  event: string;
  responseType: string | null;
  urgency: string;
  severity: string;
  certainty: string;
  expiresAt: number;
  headline: string;
  description: string;
  instruction: string | null;
  place: CapArea;
}

type Settings = ConfigOf<typeof config> & { sender: string };

/** Excludes the separators of references. @source CAP 1.2 §3.2.1 */
const SENDER = /^[^\s,<&]+$/;
const MINUTE_MS = 60_000;
/** Recommended maximum length of a headline. @source CAP 1.2 §3.2.2 */
const MAX_HEADLINE = 160;

/** True for a valid CAP sender. */
export function isValidSender(text: string): boolean {
  return SENDER.test(text);
}

/** Reason why an item cannot be published; null if it can. */
export function alertError({ device }: DeliveryItem, { areaDesc }: Settings): string | null {
  const place = parseCapArea(device.attributes, areaDesc);
  return typeof place === "string" ? place : null;
}

/** Creates the alert of an item; `earlier` is the alert in the same feed that it updates, null for a first alert. */
export function createAlert(item: DeliveryItem, earlier: PublishedAlert | null, config: Settings): PublishedAlert {
  const { device, notificationId, sentAt, text, settings } = item;
  const isUrgent = item.class === "emergency";
  const settingOr = (name: string, otherwise: string): string => String(settings[name] ?? otherwise);
  const place = parseCapArea(device.attributes, config.areaDesc);
  if (typeof place === "string") throw new RangeError(place);
  const name = `${notificationId}.${device.id}`;
  return {
    ...{ name, notificationId, identifier: name, sender: config.sender, sentAt, place },
    status: item.drill ? "Exercise" : "Actual",
    msgType: earlier === null ? "Alert" : "Update",
    scope: config.access === "public" ? "Public" : "Restricted",
    references: earlier === null ? [] : referencesTo(earlier),
    category: settingOr("category", "Safety"),
    event: settingOr("event", text.subject),
    responseType: (settings.responseType as string | null | undefined) ?? null,
    urgency: settingOr("urgency", isUrgent ? "Immediate" : "Unknown"),
    severity: settingOr("severity", isUrgent ? "Severe" : "Unknown"),
    certainty: settingOr("certainty", isUrgent ? "Observed" : "Unknown"),
    expiresAt: item.expiresAt ?? sentAt + config.validMinutes * MINUTE_MS,
    headline: text.subject.slice(0, MAX_HEADLINE),
    description: text.body,
    instruction: (settings.instruction as string | null | undefined) ?? null,
  };
}

/** Creates a cancellation of an alert, effective `now`. */
export function createCancellation(alert: PublishedAlert, now: number): PublishedAlert {
  const name = `${alert.name}.cancel`;
  const references = referencesTo(alert);
  return { ...alert, name, identifier: name, msgType: "Cancel", sentAt: now, references };
}

/** References of an alert that replaces this one. @source CAP 1.2 §3.2.1, references */
function referencesTo({ sender, identifier, sentAt, references }: PublishedAlert): string[] {
  return [...references, `${sender},${identifier},${capTime(sentAt)}`];
}

/** Formats a time in UTC, which CAP writes as `-00:00`. @source CAP 1.2 §3.3.2 */
export function capTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}-00:00`;
}
