import type { ScenarioRow } from "../../api/scenario-rows.ts";

/** Order of the tiles: emergencies first, then by name; scenarios started by other systems have no tile. */
export function launchOrder<T extends Pick<ScenarioRow, "type" | "emergency" | "name">>(rows: readonly T[]): T[] {
  return rows
    .filter(({ type }) => type !== "integration")
    .sort((a, b) => Number(b.emergency) - Number(a.emergency) || a.name.localeCompare(b.name));
}
