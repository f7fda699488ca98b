import { invalidValue } from "../lib/errors.ts";
import endpoints from "../resources/devices/endpoints.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import type { StoreReader } from "../store/store.ts";

/** Seconds that are remembered: rows of one report share most of them. */
const CACHED_SECONDS = 10_000;

/**
 * The requested time zone; default: that of the appliance's configuration, otherwise of the operating system. Throws
 * invalid-value (`timeZone`) for an unknown zone.
 */
export function resolveTimeZone(reader: StoreReader, asked: string | null): string {
  const config = reader.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0]?.config;
  const own = (config as { timeZone?: unknown } | null | undefined)?.timeZone;
  const known =
    typeof own === "string" && isKnownTimeZone(own) ? own : Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (asked === null || asked === "") return known;
  if (!isKnownTimeZone(asked)) throw invalidValue("timeZone", "Must be a time zone such as Europe/Berlin.");
  return asked;
}

/** Writes epoch ms as the date and time of a zone with its difference to UTC: `2026-03-01 08:05:00 GMT+1`. */
export function createLocalTimeFormatter(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" },
    timeZoneName: "shortOffset",
  } as Intl.DateTimeFormatOptions);
  const known = new Map<number, string>();
  return (at) => {
    const second = Math.floor(at / 1_000);
    const text = known.get(second) ?? format.format(second * 1_000);
    if (known.size >= CACHED_SECONDS) known.clear();
    known.set(second, text);
    return text;
  };
}

function isKnownTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
