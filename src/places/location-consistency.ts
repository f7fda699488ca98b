import { type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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
 * Completes a location with the levels above the narrowest one. Throws CallerError naming (by `fieldOf`) each level that is not
 * in the one above it. Unknown ids pass: the reference check rejects them.
 */
export function assertConsistentLocation(
  place: Location,
  reader: StoreReader,
  fieldOf: (level: LocationLevel) => string,
): Location {
  const givenLevels = LOCATION_LEVELS.toReversed().filter((level) => place[`${level}Id`] !== null);
  const rows = givenLevels.map(
    (level) => reader.get(RESOURCE_BY_LEVEL[level], place[`${level}Id`] as string) as LocationRow | null,
  );
  const whole = { ...place };
  const errors: FieldError[] = [];
  for (const [at, level] of givenLevels.entries()) {
    const row = rows[at];
    if (!row) return place;
    const above = locationOfRow(level, row);
    for (const upper of LOCATION_LEVELS.slice(0, LOCATION_LEVELS.indexOf(level))) {
      const key = `${upper}Id` as const;
      whole[key] ??= above[key];
      if (whole[key]?.toLowerCase() === above[key] || errors.length > 0) continue;
      const explanation = sentence("field.must-be-in-the-given-level", { level: upper });
      const message = `Field ${fieldOf(level)} is not valid. ${explanation}`;
      errors.push({ field: fieldOf(level), type: "invalid-value", message });
    }
  }
  if (errors.length > 0) throw validationError(errors);
  return whole;
}
