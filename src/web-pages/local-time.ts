import { DateTime, type Zone } from "luxon";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { StoreReader } from "../store/store.ts";
import { formatOffsetMinutes } from "../time-zones/offset-zone.ts";
import type { ZoneLookup } from "../time-zones/time-zones.ts";
import { canonicalZoneName } from "../time-zones/zone-data.ts";

/** Cache size in seconds: rows of one report share most of them. */
const CACHED_SECONDS = 10_000;

/** Time zone of an appliance: that of its configuration, otherwise of the operating system. */
export function applianceTimeZone(reader: StoreReader, endpointId: string): string {
  const configured = (reader.get(endpoints, endpointId)?.config as { timeZone?: unknown } | null | undefined)?.timeZone;
  return typeof configured === "string" && canonicalZoneName(configured) !== null
    ? configured
    : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The requested time zone, or `defaultZone`. Throws invalid-value (`timeZone`) for an unknown zone. */
export function requestedTimeZone(requested: string | null, defaultZone: string): string {
  if (requested === null || requested === "") return defaultZone;
  if (canonicalZoneName(requested) === null)
    throw invalidValue("timeZone", sentence("field.must-be-a-time-zone-such-as-europe-berlin"));
  return requested;
}

/** Formats epoch ms as local date and time with UTC offset: `2026-03-01 08:05:00 GMT+1`. */
export function createLocalTimeFormatter(timeZone: string, data: ZoneLookup): (at: number) => string {
  const zone: Zone | null = data.zone(canonicalZoneName(timeZone) ?? "Etc/UTC");
  const texts = new Map<number, string>();
  return (at) => {
    const second = Math.floor(at / 1_000);
    const text = texts.get(second) ?? formatSecond(second, zone);
    if (texts.size >= CACHED_SECONDS) texts.clear();
    texts.set(second, text);
    return text;
  };
}

function formatSecond(second: number, zone: Zone | null): string {
  const time = DateTime.fromMillis(second * 1_000, { zone: zone ?? "utc" });
  const offset = time.offset === 0 ? "" : formatOffsetMinutes(time.offset, "narrow");
  return `${time.toFormat("yyyy-MM-dd HH:mm:ss")} GMT${offset}`;
}
