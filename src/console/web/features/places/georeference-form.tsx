import type { BuildingRow, SiteRow } from "../../api/place-rows.ts";
import { useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Form } from "../../ui/form/form.tsx";
import type { FormField } from "../../ui/form/form-fields.ts";
import { cornersOf, type Georeference, type GeoreferenceMeasures, measuresOf } from "./georeference.ts";

interface GeoreferenceFormProps {
  params: { siteId: string; buildingId: string; floorId: string };
  ground: Georeference | null;
  /** Height of the picture for its width. */
  ratio: number;
}

const FIELDS: readonly FormField[] = [
  { name: "latitude", kind: "number", required: true, min: -85, max: 85 },
  { name: "longitude", kind: "number", required: true, min: -180, max: 180 },
  { name: "widthM", kind: "number", required: true, min: 1, max: 100_000 },
  { name: "turnedBy", kind: "number", min: -360, max: 360 },
];
type Answers = Partial<Record<"latitude" | "longitude" | "widthM" | "turnedBy", number | null>>;

/** Georeference of a plan: centre, width and rotation. */
export function GeoreferenceForm({ params, ground, ratio }: GeoreferenceFormProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const building = useRow<BuildingRow>("sites/{siteId}/buildings/{buildingId}", { ...params });
  const site = useRow<SiteRow>("sites/{siteId}", { ...params });
  const { heightM: _, ...measured } = ground ? measuresOf(ground) : ({} as Partial<GeoreferenceMeasures>);
  const save = useRowMutation("floors", async (answers: Answers) => {
    const { latitude, longitude, widthM, turnedBy } = { ...measured, ...answers };
    if (latitude == null || longitude == null || widthM == null) return;
    const measures = { latitude, longitude, widthM, heightM: widthM * ratio, turnedBy: turnedBy ?? 0 };
    const route = "sites/{siteId}/buildings/{buildingId}/floors/{floorId}";
    await client.put(route, params, { imageOrigins: cornersOf(measures) });
    notify(t("saved"));
  });
  if (!building.data || !site.data) return null;
  const { latitude, longitude } = building.data.latitude === null ? site.data : building.data;
  return (
    <details open={ground === null}>
      <summary>{t("plan.ground")}</summary>
      <div className="stack">
        <p className="soft">{t("plan.ground-text")}</p>
        <Form
          key={JSON.stringify(ground)}
          fields={FIELDS}
          before={measured}
          {...(ground ? {} : { initial: { latitude, longitude, turnedBy: 0 } })}
          pending={save.isPending}
          error={save.error}
          onSave={(changed) => save.mutate(changed as Answers)}
        />
      </div>
    </details>
  );
}
