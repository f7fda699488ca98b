import { type Fault, faulty } from "../base/errors.ts";
import type { Reader } from "../store/store.ts";
import { LEVELS, type Level, type Place, type PlaceRow, placeOfRow, RESOURCE_OF } from "./levels.ts";

/**
 * The place with the levels above the narrowest one filled in. Throws CallerError naming, by `fieldOf`, each level that
 * does not lie in the one above it. Ids of nothing pass: the check of references refuses them.
 */
export function requireBelonging(place: Place, reader: Reader, fieldOf: (level: Level) => string): Place {
  const whole = { ...place };
  const faults: Fault[] = [];
  for (const level of LEVELS.toReversed()) {
    const id = whole[`${level}Id`];
    const row = id === null ? null : (reader.get(RESOURCE_OF[level], id) as PlaceRow | null);
    if (!row) continue;
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
