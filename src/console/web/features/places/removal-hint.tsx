import type { BuildingRow, FloorRow } from "../../api/place-rows.ts";
import type { RouteFor, RouteParams, RouteQuery } from "../../api/routes.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { type PlaceLevel, type PlacePath, placeLevelOf, placeRouteParams } from "./place-levels.ts";

/** What goes with a place when it is removed. */
export function RemovalHint({ path }: { path: PlacePath }) {
  const { t } = useTranslation();
  const level = placeLevelOf(path) as PlaceLevel;
  const { parts, kept } = useDependents(level, path);
  if (parts === null) return null;
  return (
    <section className="stack soft">
      {parts.length === 0 && kept === null && <p>{t("places.removal-none")}</p>}
      {parts.length > 0 && (
        <>
          <p>{t("places.removal")}</p>
          <ul>
            {parts.map((part) => (
              <li key={part}>{part}</li>
            ))}
          </ul>
        </>
      )}
      {kept && <p>{kept}</p>}
    </section>
  );
}

/** What goes, in words, and what stays without its place; null parts until it is known. */
function useDependents(level: PlaceLevel, path: PlacePath): { parts: string[] | null; kept: string | null } {
  const { t } = useTranslation();
  const params = placeRouteParams(path);
  const isSite = level === "site";
  const buildings = useIf<BuildingRow>(isSite, "sites/{siteId}/buildings", params, { includeFloorTotal: true });
  const recipients = useIf(isSite, "sites/{siteId}/recipients", params, {});
  const floors = useIf<FloorRow>(level === "building", "sites/{siteId}/buildings/{buildingId}/floors", params, {
    includeZoneTotal: true,
  });
  const zones = useIf(level === "floor", "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones", params, {});
  const inputs = useIf(true, "api-devices", {}, { [`${level}Id`]: path.at(-1) ?? "" });
  const asked = [buildings, recipients, floors, zones, inputs];
  if (asked.some((each) => each === undefined)) return { parts: null, kept: null };
  const floorsIn = floors?.total ?? sum(buildings?.data.map(({ floorTotal }) => floorTotal));
  const zonesIn = zones?.total ?? sum(floors?.data.map(({ zoneTotal }) => zoneTotal));
  const goWith = level === "site" || level === "building";
  const parts = [
    buildings?.total ? t("places.removal-buildings", { count: buildings.total }) : "",
    floorsIn ? t("places.removal-floors", { count: floorsIn }) : "",
    zonesIn ? t("places.removal-zones", { count: zonesIn }) : "",
    recipients?.total ? t("places.removal-recipients", { count: recipients.total }) : "",
    inputs?.total && goWith ? t("places.removal-inputs", { count: inputs.total }) : "",
  ].filter(Boolean);
  const kept = inputs?.total && !goWith ? t("places.unplaces-inputs", { count: inputs.total }) : null;
  return { parts, kept };
}

/** Rows where they are asked for: null where they are not, undefined until they are there. */
function useIf<T = { id: string }>(enabled: boolean, route: RouteFor<"get">, params: RouteParams, query: RouteQuery) {
  const rows = useRows<T>(route, params, { limit: 1_000, ...query }, { enabled });
  return enabled ? rows.data : null;
}

function sum(numbers: readonly (number | undefined)[] | undefined): number {
  return (numbers ?? []).reduce<number>((all, each) => all + (each ?? 0), 0);
}
