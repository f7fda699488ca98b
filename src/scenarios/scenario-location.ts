import { CallerError, invalidValue, requiredValue } from "../lib/errors.ts";
import { isUuid } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { type Location, NO_LOCATION } from "../places/location-levels.ts";
import { resolveLocation } from "../places/location-resolver.ts";
import type apiDevices from "../resources/places/api-devices.ts";
import { LOCATION_STRATEGIES } from "../resources/scenarios/location-fields.ts";
import type { RowOf } from "../schema/resource.ts";
import type { RowVisibility, StoreReader } from "../store/store.ts";
import { defaultLocationOf } from "./scenario-hooks.ts";
import type { ScenarioRow } from "./scenario-questions.ts";

/** A way to find the location of a start. */
export type LocationStrategy = (typeof LOCATION_STRATEGIES)[number];

/** Inputs that determine the location of a start. */
export interface StartLocationInput {
  /** As the client sent it; undefined or null if absent. */
  location: unknown;
  /** Answer to the site question; null without one. */
  site: string | null;
  device: RowOf<typeof apiDevices> | null;
  /** Ways to find the location, in order; empty for the default order. */
  strategy: readonly LocationStrategy[];
  /** A start without a location is allowed if the device that should provide it is unknown. */
  mayBeNowhere: boolean;
}

/**
 * Location of a start: the given one, else that of the device, else the default of the scenario, or in the order that
 * the caller gave. Throws CallerError for a
 * duplicate, unexpected, invalid or missing location. @source docs/decisions/0007-scenarios.md, Starting a scenario
 */
export function resolveStartLocation(
  row: ScenarioRow,
  input: StartLocationInput,
  reader: StoreReader,
  visibility: RowVisibility,
): Location {
  const { location, site, mayBeNowhere } = input;
  const isGiven = location !== undefined && location !== null && location !== "";
  if (isGiven && site !== null)
    throw invalidValue("location", sentence("field.must-not-be-combined-with-an-answer-to-the-site-question"));
  if (isGiven && !row.locationEnabled)
    throw invalidValue("location", sentence("field.must-be-empty-the-scenario-has-no-location"));
  const strategy = input.strategy.length > 0 ? input.strategy : LOCATION_STRATEGIES;
  // What the caller gave would have no effect.
  if (isGiven && !strategy.includes("location"))
    throw invalidValue(
      "location",
      sentence("field.must-be-empty-locationresolutionstrategy-does-not-contain-location"),
    );
  if (site !== null && !strategy.includes("site-question"))
    throw invalidValue(
      "fields",
      sentence("field.the-site-must-not-be-answered-locationresolutionstrategy-has-no-site"),
    );
  for (const way of strategy) {
    if (way === "location" && isGiven) return resolveLocation(location, reader, visibility);
    if (way === "site-question" && site !== null) return siteFromAnswer(site, reader, visibility);
    if (way === "initiation-device" && input.device) return locationOfDevice(input.device);
    if (way === "scenario-default" && row.defaultSiteId !== null) return defaultLocationOf(row);
  }
  if (row.locationEnabled && !mayBeNowhere) throw requiredValue("location");
  return NO_LOCATION;
}

function locationOfDevice({ siteId, buildingId, floorId, zoneId }: RowOf<typeof apiDevices>): Location {
  return { siteId, buildingId, floorId, zoneId };
}

/** The site question is answered by id, else by external id, else by name. */
function siteFromAnswer(answer: string, reader: StoreReader, visibility: RowVisibility): Location {
  const keys = isUuid(answer) ? (["id"] as const) : (["externalId", "name"] as const);
  for (const key of keys) {
    try {
      return resolveLocation({ site: { [key]: answer } }, reader, visibility);
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
    }
  }
  throw invalidValue("fields", sentence("field.the-answer-must-match-exactly-one-site"));
}
