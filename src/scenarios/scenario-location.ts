import { CallerError, invalidValue, requiredValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { type Location, NO_LOCATION } from "../places/location-levels.ts";
import { resolveLocation } from "../places/location-resolver.ts";
import type apiDevices from "../resources/places/api-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";
import { defaultLocationOf } from "./scenario-hooks.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** What says where a scenario is started. */
export interface StartLocationInput {
  /** As the client told it; undefined or null for not at all. */
  location: unknown;
  /** Answer to the question about the site; null without one. */
  site: string | null;
  device: RowOf<typeof apiDevices> | null;
  /** A start goes on without a place when the device that should tell it is not known. */
  mayBeNowhere: boolean;
}

/**
 * The place that a scenario is started for: the one told, else that of the device, else the scenario's default. Throws
 * CallerError when a location is told twice or to a scenario without one, is none, or is missing.
 * @source decisions.md 7; service-api.md, Errors 2
 */
export function resolveStartLocation(
  row: ScenarioRow,
  told: StartLocationInput,
  reader: StoreReader,
  sight: RowVisibility,
): Location {
  const { location, site, device, mayBeNowhere } = told;
  const isTold = location !== undefined && location !== null && location !== "";
  if (isTold && site !== null) throw invalidValue("location", "The question about the site is answered, too.");
  if (isTold && !row.locationEnabled) throw invalidValue("location", "The scenario has no location.");
  if (isTold) return resolveLocation(location, reader, sight);
  if (site !== null) return siteFromAnswer(site, reader, sight);
  if (device) {
    const { siteId, buildingId, floorId, zoneId } = device;
    return { siteId, buildingId, floorId, zoneId };
  }
  if (row.defaultSiteId !== null) return defaultLocationOf(row);
  if (row.locationEnabled && !mayBeNowhere) throw requiredValue("location");
  return NO_LOCATION;
}

/** own choice: the site is answered by its id, else its id in another system, else its name. */
function siteFromAnswer(answer: string, reader: StoreReader, sight: RowVisibility): Location {
  const keys = isUuid(answer) ? (["id"] as const) : (["externalId", "name"] as const);
  for (const key of keys) {
    try {
      return resolveLocation({ site: { [key]: answer } }, reader, sight);
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
    }
  }
  throw invalidValue("fields", "No single site fits the answer.");
}
