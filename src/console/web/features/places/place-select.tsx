import type { RouteFor } from "../../api/routes.ts";
import type { Named } from "../../api/rows.ts";
import { PLACE_LEVELS, type PlaceIds } from "../../api/scenario-rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";

/** Where the places of a level are listed. */
const LISTS = {
  site: "sites",
  building: "sites/{siteId}/buildings",
  floor: "sites/{siteId}/buildings/{buildingId}/floors",
  zone: "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones",
} as const satisfies Record<(typeof PLACE_LEVELS)[number], RouteFor<"get">>;

const LIMIT = 1_000;

interface PlaceChoiceProps {
  label: string;
  /** What is taken when nothing is chosen. */
  otherwise: string;
  required?: boolean;
  place: PlaceIds;
  onChange(place: PlaceIds): void;
}

/** A site, then a building in it, and so on; a level is asked for once the one above is known and has any. */
export function PlaceSelect({ label, otherwise, required = false, place, onChange }: PlaceChoiceProps) {
  return (
    <fieldset className="places-choice">
      <legend>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </legend>
      <div className="row end">
        {PLACE_LEVELS.map((level, at) => {
          const above = PLACE_LEVELS[at - 1];
          if (above && !place[above]) return null;
          return <LevelChoice key={level} {...{ level, place, onChange }} otherwise={at === 0 ? otherwise : "–"} />;
        })}
      </div>
    </fieldset>
  );
}

type LevelProps = Pick<PlaceChoiceProps, "place" | "otherwise" | "onChange"> & { level: (typeof PLACE_LEVELS)[number] };

function LevelChoice({ level, place, otherwise, onChange }: LevelProps) {
  const { name } = useTranslation();
  const { site, building, floor } = place;
  const params = { siteId: site?.id ?? "", buildingId: building?.id ?? "", floorId: floor?.id ?? "" };
  const found = useRows<Named>(LISTS[level], params, { limit: LIMIT, sort: level === "floor" ? "rank" : "name" });
  const rows = found.data?.data ?? [];
  if (rows.length === 0 && !place[level]) return level === "site" ? <NoSites error={found.error} /> : null;
  const choose = (id: string): void => {
    const chosen = rows.find((row) => row.id === id);
    const wider = PLACE_LEVELS.slice(0, PLACE_LEVELS.indexOf(level));
    const kept = Object.fromEntries(wider.map((each) => [each, place[each]]));
    onChange(chosen ? { ...kept, [level]: { id, name: chosen.name } } : kept);
  };
  return (
    <label className="place-level">
      <span className="soft">{name("place-level", level)}</span>
      <select value={place[level]?.id ?? ""} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{otherwise}</option>
        {rows.map((row) => (
          <option key={row.id} value={row.id}>
            {row.name}
          </option>
        ))}
      </select>
    </label>
  );
}

function NoSites({ error }: { error: unknown }) {
  const { t } = useTranslation();
  return error ? <ErrorLine error={error} /> : <p className="soft">{t("place-level.none")}</p>;
}
