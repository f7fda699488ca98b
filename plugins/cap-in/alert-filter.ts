import { createHash } from "node:crypto";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import type { AlertInfo, ReceivedAlert } from "./alert.ts";
import type { FeedConfig } from "./feed-config.ts";
import { concernsGeocode, isKnownScheme } from "./geocodes.ts";
import { type Circle, readShapes, shapesIntersect, swapped } from "./geometry.ts";

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
  /** Its areas are known to be somewhere or other; false if one of them was not understood. */
  isPlaced: boolean;
  /** Why it is ignored; null if it passes the filter. */
  rejection: string | null;
  /** It says that the danger is over. */
  isEnded: boolean;
}

/** Reason for ignoring an `info` whose area is not understood. */
export const AREA_NOT_UNDERSTOOD = "area not understood";

/** Finds out where an `info` is. */
function placeOf(
  { areas }: Pick<AlertInfo, "areas">,
  { geocodes, region }: Pick<FeedConfig, "geocodes" | "region">,
  own: readonly AreaOfInterest[],
): Pick<AssessedInfo, "here" | "isPlaced"> {
  const configured = Object.keys(geocodes);
  const codes = areas.flatMap((area) => area.geocodes);
  const matching = configured.filter((each) => codes.some((code) => concernsGeocode(code, each)));
  const names = new Set(matching.map((code) => geocodes[code]));
  const shapes = areas.map((area) => readShapes(area, region));
  const found = own.filter((each) => names.has(each.name) || shapes.some((shape) => shapesIntersect(shape, each)));
  if (found.length > 0 || matching.length > 0) return { here: found, isPlaced: true };
  // Longitude before latitude would be somewhere else on the globe, and here only by mistake.
  const isTurned = shapes.some((shape) => own.some((each) => shapesIntersect(swapped(shape), each)));
  const isPlaced =
    !isTurned &&
    areas.length > 0 &&
    areas.every((area, at) =>
      area.polygons.length + area.circles.length > 0
        ? shapes[at]?.isReadable
        : area.geocodes.some((code) => isKnownScheme(code, configured)),
    );
  return { here: null, isPlaced };
}

/** Reason for ignoring an alert whatever it says; null if its infos decide. */
export function alertRejection({ status, msgType }: ReceivedAlert, { statuses }: FeedConfig): string | null {
  if (!isAmong(statuses, [status])) return `status ${status}`;
  return ["Alert", "Update", "Cancel"].includes(msgType) ? null : `message type ${msgType}`;
}

/**
 * Judges each `info` by its own areas, severity and expiry. Those of other languages count only where none of the preferred one
 * is here.
 */
export function assessInfos(
  alert: ReceivedAlert,
  feed: FeedConfig,
  own: readonly AreaOfInterest[],
  now: number,
): AssessedInfo[] {
  const assess = (info: AlertInfo): AssessedInfo => {
    const place = placeOf(info, feed, own);
    const isEnded = isOver(info) && !isAmong(feed.urgencies ?? [], ["Past"]);
    return { info, ...place, isEnded, rejection: infoRejection(alert, { info, ...place, isEnded }, feed, now) };
  };
  const preferred = alert.infos.map(assess);
  if (preferred.some(({ here, rejection }) => here !== null || rejection === null)) return preferred;
  const foreign = alert.foreignInfos.map(assess);
  return foreign.some(({ here }) => here !== null) ? foreign : preferred;
}

function infoRejection(
  { sent, msgType }: ReceivedAlert,
  { info, here, isPlaced, isEnded }: Omit<AssessedInfo, "rejection">,
  feed: FeedConfig,
  now: number,
): string | null {
  const { events, categories, urgencies, severities, certainties } = feed;
  if ((info.expiresAt ?? Date.parse(sent) + DEFAULT_VALIDITY_MS) <= now) return "expired";
  const isElsewhere = feed.onlyHere && here === null;
  if (isElsewhere && isPlaced) return "outside the areas of interest";
  const place = isElsewhere && !soundsUnplaced(feed, info) ? AREA_NOT_UNDERSTOOD : null;
  // Cancellations pass whatever the other filters say.
  if (msgType === "Cancel") return place;
  if (isEnded) return "ended";
  const mismatches = [
    isAmong(events, [info.event, ...info.eventCodes]) ? null : `event ${info.event}`,
    isAmong(categories, info.categories) ? null : `category ${info.categories.join(", ")}`,
    isAmong(urgencies, [info.urgency]) ? null : `urgency ${info.urgency}`,
    isAmong(severities, [info.severity]) ? null : `severity ${info.severity}`,
    isAmong(certainties, [info.certainty]) ? null : `certainty ${info.certainty}`,
  ];
  return mismatches.find((mismatch) => mismatch !== null) ?? place;
}

/** Authorities end an alert for some of its areas in a separate `info`. @source CAP 1.2 §3.2.2: urgency, responseType */
function isOver({ urgency, responseTypes }: AlertInfo): boolean {
  return urgency.toLowerCase() === "past" || responseTypes.some((type) => type.toLowerCase() === "allclear");
}

/** When in doubt, sound the alarm. */
function soundsUnplaced({ unplaced }: FeedConfig, { severity }: AlertInfo): boolean {
  return unplaced === "all" || (unplaced === "extreme" && severity.toLowerCase() === "extreme");
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
  /** Null for the whole site: by a geocode without an area, or by policy for an area that is not understood. */
  areaOfInterestIds: readonly string[] | null;
}

/** Content of infos that passed the filter, the worst first. */
export function contentOf(passed: readonly AssessedInfo[], { onlyHere }: Pick<FeedConfig, "onlyHere">): AlertContent {
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
      placement: passed.every(({ here, isPlaced }) => here === null && !isPlaced) ? AREA_NOT_UNDERSTOOD : "",
    },
    areaOfInterestIds: passed.some(({ here }) => (here === null ? onlyHere : here.length === 0))
      ? null
      : [...new Set(passed.flatMap(({ here }) => (here ?? []).map(({ id }) => id)))],
  };
}

/** `unplaced`: it was ignored because its area is not understood. */
export type AlertOutcome = "alert" | "end" | "unplaced";

/** Trigger input of an alert. What is no alert here has its own source, so that no rule takes it for one. */
export function alertInput(
  alert: ReceivedAlert,
  feed: FeedConfig,
  { values, areaOfInterestIds }: AlertContent,
  outcome: AlertOutcome,
): TriggerInput {
  const { identifier, sender, sent, status, msgType, references } = alert;
  return {
    source: { alert: feed.name, end: `${feed.name}/cancel`, unplaced: `${feed.name}/unplaced` }[outcome],
    dedupeKey: outcome === "unplaced" ? dedupeKeyOf("cap", `unplaced ${keyText(alert)}`) : alertEventKey(alert),
    // Exercise, System and Test alerts are drills.
    ...(status.toLowerCase() === "actual" ? {} : { drill: true }),
    values: {
      ...{ identifier, sender, sent, status, msgType, references },
      ...values,
      state: outcome === "end" ? "Cancel" : msgType,
      ...(areaOfInterestIds === null ? {} : { areaOfInterestIds: [...areaOfInterestIds] }),
    },
  };
}

/** Globally unique key of an alert. @source CAP 1.2 §3.2.1: identifier, sender, sent */
function alertEventKey(alert: ReceivedAlert): string {
  return dedupeKeyOf("cap", keyText(alert));
}

function keyText({ identifier, sender, sent }: ReceivedAlert): string {
  return `${sender},${identifier},${sent}`;
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
