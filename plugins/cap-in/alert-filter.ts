import { createHash } from "node:crypto";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import type { FeedConfig } from "./feed-config.ts";
import { type Circle, intersectsCircle } from "./geometry.ts";

export interface AreaOfInterest extends Circle {
  id: string;
  name: string;
}

/** Validity of an alert without `expires`. */
const DEFAULT_VALIDITY_MS = 3_600_000;
/** Maximum length of each text passed to messages. */
const MAX_TEXT = 8_000;

/** Areas of interest that an alert affects; null if it affects neither an area nor a configured geocode. */
export function matchingAreas(
  { areas }: ReceivedAlert,
  { geocodes }: FeedConfig,
  own: readonly AreaOfInterest[],
): AreaOfInterest[] | null {
  const codes = areas.flatMap((area) => area.geocodes).filter((code) => Object.hasOwn(geocodes, code));
  const names = new Set(codes.map((code) => geocodes[code]));
  const found = own.filter((each) => names.has(each.name) || areas.some((area) => intersectsCircle(area, each)));
  return found.length > 0 || codes.length > 0 ? found : null;
}

/** Reason for ignoring an alert; null if it passes the filter. */
export function rejectionReason(
  alert: ReceivedAlert,
  feed: FeedConfig,
  here: readonly AreaOfInterest[] | null,
  now: number,
): string | null {
  const { statuses, events, categories, urgencies, severities, certainties } = feed;
  if (!isAmong(statuses, [alert.status])) return `status ${alert.status}`;
  if (!["Alert", "Update", "Cancel"].includes(alert.msgType)) return `message type ${alert.msgType}`;
  if ((alert.expiresAt ?? Date.parse(alert.sent) + DEFAULT_VALIDITY_MS) <= now) return "expired";
  if (feed.onlyHere && here === null) return "outside the areas of interest";
  // Cancellations pass whatever the other filters say.
  if (alert.msgType === "Cancel") return null;
  const mismatches = [
    isAmong(events, [alert.event, ...alert.eventCodes]) ? null : `event ${alert.event}`,
    isAmong(categories, alert.categories) ? null : `category ${alert.categories.join(", ")}`,
    isAmong(urgencies, [alert.urgency]) ? null : `urgency ${alert.urgency}`,
    isAmong(severities, [alert.severity]) ? null : `severity ${alert.severity}`,
    isAmong(certainties, [alert.certainty]) ? null : `certainty ${alert.certainty}`,
  ];
  return mismatches.find((mismatch) => mismatch !== null) ?? null;
}

/** Trigger input of an alert. A cancellation has its own source, so that no rule takes it for an alert. */
export function alertInput(
  alert: ReceivedAlert,
  feed: FeedConfig,
  here: readonly AreaOfInterest[] | null,
): TriggerInput {
  const { identifier, sender, sent, status, msgType, references, event, urgency, severity, certainty } = alert;
  const texts = Object.fromEntries(Object.entries(alert.texts).map(([name, text]) => [name, text.slice(0, MAX_TEXT)]));
  return {
    source: msgType === "Cancel" ? `${feed.name}/cancel` : feed.name,
    dedupeKey: alertEventKey(alert),
    // Exercise, System and Test alerts are drills.
    ...(status.toLowerCase() === "actual" ? {} : { drill: true }),
    values: {
      ...{ identifier, sender, sent, status, msgType, references, event, urgency, severity, certainty },
      ...texts,
      state: msgType,
      category: alert.categories.join(", "),
      expires: alert.expiresAt === null ? "" : new Date(alert.expiresAt).toISOString(),
      areaDesc: alert.areas
        .map(({ areaDesc }) => areaDesc)
        .join("; ")
        .slice(0, MAX_TEXT),
      areaOfInterestIds: (here ?? []).map(({ id }) => id),
    },
  };
}

/** Globally unique key of an alert. @source CAP 1.2 §3.2.1: identifier, sender, sent */
function alertEventKey({ identifier, sender, sent }: ReceivedAlert): string {
  return dedupeKeyOf("cap", `${sender},${identifier},${sent}`);
}

/** Short hash of an entry's version. */
export function versionHash(version: string): string {
  return createHash("sha256").update(version).digest("base64url").slice(0, 16);
}

function isAmong(wanted: readonly string[] | null, actual: readonly string[]): boolean {
  if (wanted === null) return true;
  const values = new Set(wanted.map((each) => each.toLowerCase()));
  return actual.some((each) => values.has(each.toLowerCase()));
}
