import { CallerError, invalidValue, requiredValue } from "../base/errors.ts";
import { isUuid } from "../base/ids.ts";
import { NOWHERE, type Place } from "../places/levels.ts";
import { resolveLocation } from "../places/location.ts";
import type apiDevices from "../resources/places/api-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Reader, Sight } from "../store/store.ts";
import type { ScenarioRow } from "./questions.ts";
import { defaultPlaceOf } from "./scenario-behaviour.ts";

/** What says where a scenario is started. */
export interface PlaceTold {
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
export function placeOfStart(row: ScenarioRow, told: PlaceTold, reader: Reader, sight: Sight): Place {
  const { location, site, device, mayBeNowhere } = told;
  const isTold = location !== undefined && location !== null && location !== "";
  if (isTold && site !== null) throw invalidValue("location", "The question about the site is answered, too.");
  if (isTold && !row.locationEnabled) throw invalidValue("location", "The scenario has no location.");
  if (isTold) return resolveLocation(location, reader, sight);
  if (site !== null) return siteAnswered(site, reader, sight);
  if (device) {
    const { siteId, buildingId, floorId, zoneId } = device;
    return { siteId, buildingId, floorId, zoneId };
  }
  if (row.defaultSiteId !== null) return defaultPlaceOf(row);
  if (row.locationEnabled && !mayBeNowhere) throw requiredValue("location");
  return NOWHERE;
}

/** own choice: the site is answered by its id, else its id in another system, else its name. */
function siteAnswered(answer: string, reader: Reader, sight: Sight): Place {
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
