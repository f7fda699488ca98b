import { createHash } from "node:crypto";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import type { ReceivedAlert } from "./alert.ts";
import type { FeedConfig } from "./feed-config.ts";
import { type Circle, intersectsCircle } from "./geometry.ts";

/** An area of interest of the appliance. */
export interface AreaOfInterest extends Circle {
  id: string;
  name: string;
}

/** So old is an alert that does not say when it expires. own choice */
const DEFAULT_VALIDITY_MS = 3_600_000;
/** What messages are made of; more would not fit. */
const MAX_TEXT = 8_000;

/** The areas that an alert is for; null when it is for none of them nor for a geocode that means here. */
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

/** Why an alert does not count, in words; null for one that does. */
export function rejectionReason(
  alert: ReceivedAlert,
  feed: FeedConfig,
  here: readonly AreaOfInterest[] | null,
  now: number,
): string | null {
  const { statuses, events, categories, urgencies, severities, certainties } = feed;
  if (!isAmong(statuses, [alert.status])) return `its status is ${alert.status}`;
  if (!["Alert", "Update", "Cancel"].includes(alert.msgType)) return `it is of type ${alert.msgType}`;
  if ((alert.expiresAt ?? Date.parse(alert.sent) + DEFAULT_VALIDITY_MS) <= now) return "it holds no more";
  if (feed.onlyHere && here === null) return "it is for elsewhere";
  // The end of an alert is told with whatever words.
  if (alert.msgType === "Cancel") return null;
  const faults = [
    isAmong(events, [alert.event, ...alert.eventCodes]) ? null : `its event is ${alert.event}`,
    isAmong(categories, alert.categories) ? null : `its category is ${alert.categories.join(", ")}`,
    isAmong(urgencies, [alert.urgency]) ? null : `its urgency is ${alert.urgency}`,
    isAmong(severities, [alert.severity]) ? null : `its severity is ${alert.severity}`,
    isAmong(certainties, [alert.certainty]) ? null : `its certainty is ${alert.certainty}`,
  ];
  return faults.find((fault) => fault !== null) ?? null;
}

/** The input that an alert is. The end of one is an input of its own source, lest a rule take it for an alert. */
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
    // Exercises, and what only tries the system, must not be taken for an alert.
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

/** Names an alert among all of the world. @source CAP 1.2 §3.2.1: identifier, sender, sent */
function alertEventKey({ identifier, sender, sent }: ReceivedAlert): string {
  return dedupeKeyOf("cap", `${sender},${identifier},${sent}`);
}

/** Names what a feed pointed to, in few characters. */
export function versionHash(version: string): string {
  return createHash("sha256").update(version).digest("base64url").slice(0, 16);
}

function isAmong(wanted: readonly string[] | null, said: readonly string[]): boolean {
  if (wanted === null) return true;
  const words = new Set(wanted.map((each) => each.toLowerCase()));
  return said.some((each) => words.has(each.toLowerCase()));
}
