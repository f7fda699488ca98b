import type { ConfigOf, DeliveryItem } from "#plugin-api";
import { type CapArea, parseCapArea } from "./cap-area.ts";
import type config from "./config.ts";

/** An alert as it stands in a feed; kept as it is, so that its document is always the same. Times are epoch ms. */
export interface PublishedAlert {
  /** Names it in addresses. */
  name: string;
  notificationId: string;
  identifier: string;
  sender: string;
  sentAt: number;
  status: "Actual" | "Exercise";
  msgType: "Alert" | "Update" | "Cancel";
  scope: "Public" | "Restricted";
  /** Earlier alerts that it replaces, `sender,identifier,sent` each. */
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

/** @source CAP 1.2 §3.2.1: they part the members of a reference */
const SENDER = /^[^\s,<&]+$/;
const MINUTE_MS = 60_000;
/** Longest headline that all readers show. @source CAP 1.2 §3.2.2 */
const MAX_HEADLINE = 160;

/** True for what may stand as sender. */
export function isValidSender(text: string): boolean {
  return SENDER.test(text);
}

/** Words for why an item can be no alert; null for one that can. */
export function alertError({ device }: DeliveryItem, { areaDesc }: Settings): string | null {
  const place = parseCapArea(device.attributes, areaDesc);
  return typeof place === "string" ? place : null;
}

/** The alert of an item; `earlier` is the one in the same feed that it continues, null for a first word. */
export function createAlert(item: DeliveryItem, earlier: PublishedAlert | null, config: Settings): PublishedAlert {
  const { device, notificationId, sentAt, text, settings } = item;
  const isUrgent = item.class === "emergency";
  const said = (name: string, otherwise: string): string => String(settings[name] ?? otherwise);
  const place = parseCapArea(device.attributes, config.areaDesc);
  if (typeof place === "string") throw new RangeError(place);
  const name = `${notificationId}.${device.id}`;
  return {
    ...{ name, notificationId, identifier: name, sender: config.sender, sentAt, place },
    status: item.drill ? "Exercise" : "Actual",
    msgType: earlier === null ? "Alert" : "Update",
    scope: config.access === "public" ? "Public" : "Restricted",
    references: earlier === null ? [] : referencesTo(earlier),
    category: said("category", "Safety"),
    event: said("event", text.subject),
    responseType: (settings.responseType as string | null | undefined) ?? null,
    urgency: said("urgency", isUrgent ? "Immediate" : "Unknown"),
    severity: said("severity", isUrgent ? "Severe" : "Unknown"),
    certainty: said("certainty", isUrgent ? "Observed" : "Unknown"),
    expiresAt: item.expiresAt ?? sentAt + config.validMinutes * MINUTE_MS,
    headline: text.subject.slice(0, MAX_HEADLINE),
    description: text.body,
    instruction: (settings.instruction as string | null | undefined) ?? null,
  };
}

/** The word that an alert holds no more, from `now` on. */
export function createCancellation(alert: PublishedAlert, now: number): PublishedAlert {
  const name = `${alert.name}.cancel`;
  const references = referencesTo(alert);
  return { ...alert, name, identifier: name, msgType: "Cancel", sentAt: now, references };
}

/** Everything that a word about an alert replaces. @source CAP 1.2 §3.2.1, references */
function referencesTo({ sender, identifier, sentAt, references }: PublishedAlert): string[] {
  return [...references, `${sender},${identifier},${capTime(sentAt)}`];
}

/** A moment in UTC, which CAP writes with `-00:00`. @source CAP 1.2 §3.3.2 */
export function capTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}-00:00`;
}
