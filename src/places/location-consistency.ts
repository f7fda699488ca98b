import { type FieldError, validationError } from "../lib/errors.ts";
import type { StoreReader } from "../store/store.ts";
import {
  LOCATION_LEVELS,
  type Location,
  type LocationLevel,
  type LocationRow,
  locationOfRow,
  RESOURCE_BY_LEVEL,
} from "./location-levels.ts";

/**
 * The place with the levels above the narrowest one filled in. Throws CallerError naming, by `fieldOf`, each level that
 * does not lie in the one above it. Ids of nothing pass: the check of references refuses them.
 */
export function assertConsistentLocation(
  place: Location,
  reader: StoreReader,
  fieldOf: (level: LocationLevel) => string,
): Location {
  const told = LOCATION_LEVELS.toReversed().filter((level) => place[`${level}Id`] !== null);
  const rows = told.map(
    (level) => reader.get(RESOURCE_BY_LEVEL[level], place[`${level}Id`] as string) as LocationRow | null,
  );
  const whole = { ...place };
  const faults: FieldError[] = [];
  for (const [at, level] of told.entries()) {
    const row = rows[at];
    if (!row) return place;
    const above = locationOfRow(level, row);
    for (const upper of LOCATION_LEVELS.slice(0, LOCATION_LEVELS.indexOf(level))) {
      const key = `${upper}Id` as const;
      whole[key] ??= above[key];
      if (whole[key]?.toLowerCase() === above[key] || faults.length > 0) continue;
      const message = `Field ${fieldOf(level)} is not valid. It lies in another ${upper}.`;
      faults.push({ field: fieldOf(level), type: "invalid-value", message });
    }
  }
  if (faults.length > 0) throw validationError(faults);
  return whole;
}
