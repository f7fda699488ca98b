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
export function resolveTimeZone(reader: StoreReader, requested: string | null): string {
  const config = reader.find(endpoints, { extensionId: ONPREM_EXTENSION_ID }, 1)[0]?.config;
  const configured = (config as { timeZone?: unknown } | null | undefined)?.timeZone;
  const defaultZone =
    typeof configured === "string" && isKnownTimeZone(configured) ? configured : Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (requested === null || requested === "") return defaultZone;
  if (!isKnownTimeZone(requested)) throw invalidValue("timeZone", "Must be a time zone such as Europe/Berlin.");
  return requested;
}

/** Writes epoch ms as the date and time of a zone with its difference to UTC: `2026-03-01 08:05:00 GMT+1`. */
export function createLocalTimeFormatter(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat("sv-SE", {
    timeZone,
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit" },
    timeZoneName: "shortOffset",
  } as Intl.DateTimeFormatOptions);
  const defaultZone = new Map<number, string>();
  return (at) => {
    const second = Math.floor(at / 1_000);
    const text = defaultZone.get(second) ?? format.format(second * 1_000);
    if (defaultZone.size >= CACHED_SECONDS) defaultZone.clear();
    defaultZone.set(second, text);
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
