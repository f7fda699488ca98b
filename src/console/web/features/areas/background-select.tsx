import { useEffect, useState } from "react";
import type { FloorRow } from "../../api/place-rows.ts";
import { useRow } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { isGeoJson, type MapBackground } from "../../ui/map/map-background.ts";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import { useImage } from "../../ui/use-image.ts";
import { parseGeoreference } from "../places/georeference.ts";

const KINDS = ["grid", "plan", "file"] as const;
type Kind = (typeof KINDS)[number];
const GRID: MapBackground = { kind: "grid" };

/** Background of the map: graticule, floor plan, or a local GeoJSON file. Nothing is loaded from other hosts. */
export function BackgroundSelect({ onChoose }: { onChoose: (background: MapBackground) => void }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>("grid");
  const choose = (next: Kind) => {
    setKind(next);
    onChoose(GRID);
  };
  return (
    <details>
      <summary>{t("areas.background")}</summary>
      <div className="stack">
        <SegmentedChoice
          label={t("areas.background")}
          value={kind}
          choices={KINDS.map((value) => ({ value, label: t(`areas.background-${value}`) }))}
          onChange={choose}
        />
        {kind === "plan" && <PlanChoice onChoose={onChoose} />}
        {kind === "file" && <FileChoice onChoose={onChoose} />}
      </div>
    </details>
  );
}

function PlanChoice({ onChoose }: { onChoose: (background: MapBackground) => void }) {
  const { t } = useTranslation();
  const [siteId, setSite] = useState<string | null>(null);
  const [buildingId, setBuilding] = useState<string | null>(null);
  const [floorId, setFloor] = useState<string | null>(null);
  const chooseBuilding = (id: string | null) => {
    setBuilding(id);
    setFloor(null);
  };
  const chooseSite = (id: string | null) => {
    setSite(id);
    chooseBuilding(null);
  };
  const within = { siteId: siteId ?? "", buildingId: buildingId ?? "" };
  const route = "sites/{siteId}/buildings/{buildingId}/floors";
  const choices = { placeholder: t("form.choose") };
  return (
    <div className="row end">
      <RowSelect {...choices} label={t("field.siteId")} route="sites" value={siteId} onChange={chooseSite} />
      <RowSelect
        {...choices}
        label={t("field.buildingId")}
        route="sites/{siteId}/buildings"
        params={within}
        disabled={siteId === null}
        value={buildingId}
        onChange={chooseBuilding}
      />
      <RowSelect
        {...choices}
        label={t("field.floorId")}
        route={route}
        params={within}
        disabled={buildingId === null}
        value={floorId}
        onChange={setFloor}
      />
      {floorId !== null && <ChosenPlan key={floorId} params={{ ...within, floorId }} onChoose={onChoose} />}
    </div>
  );
}

interface ChosenPlanProps {
  params: { siteId: string; buildingId: string; floorId: string };
  onChoose(background: MapBackground): void;
}

function ChosenPlan({ params, onChoose }: ChosenPlanProps) {
  const { t } = useTranslation();
  const route = "sites/{siteId}/buildings/{buildingId}/floors/{floorId}";
  const floor = useRow<FloorRow>(route, params).data;
  const { url } = useImage(`${route}/floorPlanImage`, params, floor?.floorPlanImage ? floor.updatedAt : null);
  const ground = JSON.stringify(parseGeoreference(floor?.imageOrigins));
  useEffect(() => {
    const known = JSON.parse(ground) as ReturnType<typeof parseGeoreference>;
    if (url && known) onChoose({ kind: "plan", url, ground: known });
  }, [url, ground, onChoose]);
  if (!floor) return null;
  if (!floor.floorPlanImage) return <p className="fault">{t("areas.no-plan")}</p>;
  return ground === "null" ? <p className="fault">{t("areas.no-ground")}</p> : null;
}

function FileChoice({ onChoose }: { onChoose: (background: MapBackground) => void }) {
  const { t } = useTranslation();
  const [isBad, setBad] = useState(false);
  const take = async (file: File | undefined) => {
    if (!file) return;
    const data = await file
      .text()
      .then(JSON.parse)
      .catch(() => null);
    setBad(!isGeoJson(data));
    if (isGeoJson(data)) onChoose({ kind: "geojson", data });
  };
  return (
    <>
      <label className="stack">
        {t("areas.background-choose")}
        <input
          type="file"
          className="file-input"
          accept=".geojson,.json,application/geo+json"
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
      </label>
      <p className="soft">{t("areas.background-stays")}</p>
      {isBad && (
        <p className="fault" role="alert">
          {t("areas.background-bad")}
        </p>
      )}
    </>
  );
}
