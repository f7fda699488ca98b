import { type Fault, faulty } from "../base/errors.ts";
import type { Reader } from "../store/store.ts";
import { LEVELS, type Level, type Place, type PlaceRow, placeOfRow, RESOURCE_OF } from "./levels.ts";

/**
 * The place with the levels above the narrowest one filled in. Throws CallerError naming, by `fieldOf`, each level that
 * does not lie in the one above it. Ids of nothing pass: the check of references refuses them.
 */
export function requireBelonging(place: Place, reader: Reader, fieldOf: (level: Level) => string): Place {
  const told = LEVELS.toReversed().filter((level) => place[`${level}Id`] !== null);
  const rows = told.map((level) => reader.get(RESOURCE_OF[level], place[`${level}Id`] as string) as PlaceRow | null);
  const whole = { ...place };
  const faults: Fault[] = [];
  for (const [at, level] of told.entries()) {
    const row = rows[at];
    if (!row) return place;
    const above = placeOfRow(level, row);
    for (const upper of LEVELS.slice(0, LEVELS.indexOf(level))) {
      const key = `${upper}Id` as const;
      whole[key] ??= above[key];
      if (whole[key]?.toLowerCase() === above[key] || faults.length > 0) continue;
      const message = `Field ${fieldOf(level)} is not valid. It lies in another ${upper}.`;
      faults.push({ field: fieldOf(level), type: "invalid-value", message });
    }
  }
  if (faults.length > 0) throw faulty(faults);
  return whole;
}
