import { createHash } from "node:crypto";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import type { AlertInfo, ReceivedAlert } from "./alert.ts";
import type { FeedConfig } from "./feed-config.ts";
import { type Circle, hasReadableShapes, intersectsCircle } from "./geometry.ts";

export interface AreaOfInterest extends Circle {
  id: string;
  name: string;
}

/** Validity of an alert without `expires`. */
const DEFAULT_VALIDITY_MS = 3_600_000;
/** Maximum length of each text passed to messages. */
const MAX_TEXT = 8_000;

/** What an `info` means for this site. */
export interface AssessedInfo {
  info: AlertInfo;
  /** Areas of interest that it affects; null if it affects neither an area nor a configured geocode. */
  here: AreaOfInterest[] | null;
  /** Why it is ignored; null if it passes the filter. */
  rejection: string | null;
  /** It says that the danger is over. */
  isEnded: boolean;
}

/** Areas of interest that an `info` affects; null if it affects neither an area nor a configured geocode. */
function matchingAreas(
  { areas }: Pick<AlertInfo, "areas">,
  { geocodes }: Pick<FeedConfig, "geocodes">,
  own: readonly AreaOfInterest[],
): AreaOfInterest[] | null {
  const codes = areas.flatMap((area) => area.geocodes).filter((code) => Object.hasOwn(geocodes, code));
  const names = new Set(codes.map((code) => geocodes[code]));
  const found = own.filter((each) => names.has(each.name) || areas.some((area) => intersectsCircle(area, each)));
  return found.length > 0 || codes.length > 0 ? found : null;
}

/** Reason for ignoring an alert whatever it says; null if its infos decide. */
export function alertRejection({ status, msgType }: ReceivedAlert, { statuses }: FeedConfig): string | null {
  if (!isAmong(statuses, [status])) return `status ${status}`;
  return ["Alert", "Update", "Cancel"].includes(msgType) ? null : `message type ${msgType}`;
}

/** Judges each `info` by its own areas, severity and expiry. */
export function assessInfos(
  alert: ReceivedAlert,
  feed: FeedConfig,
  own: readonly AreaOfInterest[],
  now: number,
): AssessedInfo[] {
  return alert.infos.map((info) => {
    const here = matchingAreas(info, feed, own);
    const isEnded = isOver(info) && !isAmong(feed.urgencies ?? [], ["Past"]);
    return { info, here, isEnded, rejection: infoRejection(alert, { info, here, isEnded }, feed, now) };
  });
}

function infoRejection(
  { sent, msgType }: ReceivedAlert,
  { info, here, isEnded }: Omit<AssessedInfo, "rejection">,
  feed: FeedConfig,
  now: number,
): string | null {
  const { events, categories, urgencies, severities, certainties } = feed;
  if ((info.expiresAt ?? Date.parse(sent) + DEFAULT_VALIDITY_MS) <= now) return "expired";
  if (feed.onlyHere && here === null) {
    if (isPlaced(info)) return "outside the areas of interest";
    // When in doubt, sound the alarm.
    if (info.severity.toLowerCase() !== "extreme") return "area not understood";
  }
  // Cancellations pass whatever the other filters say.
  if (msgType === "Cancel") return null;
  if (isEnded) return "ended";
  const mismatches = [
    isAmong(events, [info.event, ...info.eventCodes]) ? null : `event ${info.event}`,
    isAmong(categories, info.categories) ? null : `category ${info.categories.join(", ")}`,
    isAmong(urgencies, [info.urgency]) ? null : `urgency ${info.urgency}`,
    isAmong(severities, [info.severity]) ? null : `severity ${info.severity}`,
    isAmong(certainties, [info.certainty]) ? null : `certainty ${info.certainty}`,
  ];
  return mismatches.find((mismatch) => mismatch !== null) ?? null;
}

/** Authorities end an alert for some of its areas in a separate `info`. @source CAP 1.2 §3.2.2: urgency, responseType */
function isOver({ urgency, responseTypes }: AlertInfo): boolean {
  return urgency.toLowerCase() === "past" || responseTypes.some((type) => type.toLowerCase() === "allclear");
}

/** Whether all areas say where they are: by shapes that can be read, or by a geocode. */
function isPlaced({ areas }: AlertInfo): boolean {
  return (
    areas.length > 0 &&
    areas.every((area) =>
      area.polygons.length + area.circles.length > 0 ? hasReadableShapes(area) : area.geocodes.length > 0,
    )
  );
}

const SEVERITIES = ["extreme", "severe", "moderate", "minor"];
const URGENCIES = ["immediate", "expected", "future"];

/** The infos with the worst one first, whose texts are sent. */
export function worstFirst(infos: readonly AssessedInfo[]): AssessedInfo[] {
  const rank = (known: readonly string[], value: string): number => {
    const at = known.indexOf(value.toLowerCase());
    return at < 0 ? known.length : at;
  };
  return [...infos].sort(
    ({ info: one }, { info: other }) =>
      rank(SEVERITIES, one.severity) - rank(SEVERITIES, other.severity) ||
      rank(URGENCIES, one.urgency) - rank(URGENCIES, other.urgency),
  );
}

/** What a message says: of an `info`, or of the earlier alert that a cancellation without one refers to. */
export interface AlertContent {
  values: Readonly<Record<string, string>>;
  areaOfInterestIds: readonly string[];
}

/** Content of infos that passed the filter, the worst first. */
export function contentOf(passed: readonly AssessedInfo[]): AlertContent {
  const [worst] = passed;
  if (!worst) return { values: {}, areaOfInterestIds: [] };
  const { event, urgency, severity, certainty, categories, expiresAt } = worst.info;
  const areas = passed.flatMap(({ info }) => info.areas.map(({ areaDesc }) => areaDesc));
  const texts = Object.entries(worst.info.texts).map(([name, text]) => [name, text.slice(0, MAX_TEXT)]);
  return {
    values: {
      ...{ event, urgency, severity, certainty, ...Object.fromEntries(texts) },
      category: categories.join(", "),
      expires: expiresAt === null ? "" : new Date(expiresAt).toISOString(),
      areaDesc: [...new Set(areas)].join("; ").slice(0, MAX_TEXT),
    },
    areaOfInterestIds: [...new Set(passed.flatMap(({ here }) => (here ?? []).map(({ id }) => id)))],
  };
}

/** Trigger input of an alert. The end of one has its own source, so that no rule takes it for an alert. */
export function alertInput(
  alert: ReceivedAlert,
  feed: FeedConfig,
  { values, areaOfInterestIds }: AlertContent,
  isEnd: boolean,
): TriggerInput {
  const { identifier, sender, sent, status, msgType, references } = alert;
  return {
    source: isEnd ? `${feed.name}/cancel` : feed.name,
    dedupeKey: alertEventKey(alert),
    // Exercise, System and Test alerts are drills.
    ...(status.toLowerCase() === "actual" ? {} : { drill: true }),
    values: {
      ...{ identifier, sender, sent, status, msgType, references },
      ...values,
      state: isEnd ? "Cancel" : msgType,
      areaOfInterestIds: [...areaOfInterestIds],
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
