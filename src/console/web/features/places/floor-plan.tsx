import { Button } from "@mantine/core";
import { useRef, useState } from "react";
import type { ApiDeviceRow, FloorRow } from "../../api/place-rows.ts";
import { useRow, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { useImage } from "../../ui/use-image.ts";
import {
  centerOf,
  type Georeference,
  outlineOf,
  type PlanPoint,
  type Position,
  parseGeoreference,
  toPlanPoint,
  toPosition,
} from "./georeference.ts";
import { GeoreferenceForm } from "./georeference-form.tsx";
import { PlanImage } from "./plan-image.tsx";
import { type PlanZone, ZoneOutlines } from "./zone-outlines.tsx";
import "../../ui/lines.css";
import "./plan.css";

const FLOOR = "sites/{siteId}/buildings/{buildingId}/floors/{floorId}";
const MIDDLE: PlanPoint = { x: 0.5, y: 0.5 };

interface FloorParams {
  siteId: string;
  buildingId: string;
  floorId: string;
}

/** Plan of a floor with its inputs and georeference. */
export function FloorPlan(params: FloorParams) {
  const { t } = useTranslation();
  const asked = useRow<FloorRow>(FLOOR, { ...params }, { includeZoneBoundaries: true });
  const inputs = useRows<ApiDeviceRow>("api-devices", {}, { floorId: params.floorId, limit: 1_000, sort: "name" });
  const [ratio, setRatio] = useState<number | null>(null);
  const [drawn, setDrawn] = useState<PlanZone | null>(null);
  const floor = asked.data?.id === params.floorId ? asked.data : undefined;
  const picture = useImage(`${FLOOR}/floorPlanImage`, { ...params }, floor?.floorPlanImage ? floor.updatedAt : null);
  const ground = parseGeoreference(floor?.imageOrigins);
  const pin = usePinning();
  if (!floor) return <ErrorLine error={asked.error} />;
  const canChange = floor.permissions.includes("put");
  const zones = (floor.zones ?? []).map(({ id, name, boundary }) => ({
    id,
    name,
    outline: outlineOf(boundary, ground),
  }));
  const outlines = [...zones.filter(({ id }) => id !== drawn?.id), ...(drawn ? [drawn] : [])].flatMap(
    ({ id, name, outline }) => (outline ? [{ id, name, outline }] : []),
  );
  const middles = new Map(outlines.map(({ id, outline }) => [id, centerOf(outline)]));
  const standing = (inputs.data?.data ?? []).map((row) => ({ row, ...standingOf(row, ground, middles) }));
  const marks = standing.flatMap(({ row, at }) =>
    at ? [{ id: row.id, name: row.name, at, canMove: ground !== null && row.permissions.includes("put") }] : [],
  );
  return (
    <section className="stack">
      <ErrorLine error={picture.error ?? inputs.error ?? pin.error} />
      {picture.url ? (
        <PlanImage
          url={picture.url}
          name={floor.name}
          {...{ outlines, marks }}
          onRatio={setRatio}
          onMove={(id, at) => ground && pin.mutate({ id, position: toPosition(at, ground) })}
        />
      ) : (
        !floor.floorPlanImage && <p>{t("plan.none")}</p>
      )}
      {picture.url && marks.some(({ canMove }) => canMove) && <p className="soft">{t("plan.move-hint")}</p>}
      {canChange && <PictureButtons params={params} isThere={floor.floorPlanImage > 0} />}
      {picture.url && (
        <>
          <Inputs
            standing={standing}
            hasGround={ground !== null}
            onPlace={({ row, at }) => ground && pin.mutate({ id: row.id, position: toPosition(at ?? MIDDLE, ground) })}
          />
          {canChange && <ZoneOutlines {...{ params, zones }} onDraft={setDrawn} />}
          {canChange && ratio !== null && <GeoreferenceForm {...{ params, ground, ratio }} />}
        </>
      )}
    </section>
  );
}

/** How it is known where an input stands. */
type Known = "pinned" | "in-zone" | "unpinned";

interface InputPosition {
  row: ApiDeviceRow;
  at: PlanPoint | null;
  known: Known;
}

function standingOf(
  { pinnedLocation, zoneId }: ApiDeviceRow,
  ground: Georeference | null,
  middles: ReadonlyMap<string, PlanPoint>,
): { at: PlanPoint | null; known: Known } {
  const position = pinnedLocation?.coordinates;
  if (position?.length === 2 && ground)
    return { at: toPlanPoint(position as unknown as Position, ground), known: "pinned" };
  const zone = middles.get(zoneId ?? "");
  return zone ? { at: zone, known: "in-zone" } : { at: null, known: "unpinned" };
}

function usePinning() {
  const { client } = useConsole();
  return useRowMutation("api-devices", ({ id, position }: { id: string; position: Position }) =>
    client.put(
      "api-devices/{apiDeviceId}",
      { apiDeviceId: id },
      { pinnedLocation: { type: "Point", coordinates: position } },
    ),
  );
}

interface InputsProps {
  standing: readonly InputPosition[];
  hasGround: boolean;
  onPlace(standing: InputPosition): void;
}

function Inputs({ standing, hasGround, onPlace }: InputsProps) {
  const { t } = useTranslation();
  return (
    <section className="stack">
      <h3>{t("plan.inputs")}</h3>
      {standing.length === 0 && <p className="soft">{t("plan.inputs-none")}</p>}
      {standing.length > 0 && !hasGround && <p className="soft">{t("plan.ground-missing")}</p>}
      <ul className="plain lined">
        {standing.map((each) => (
          <li key={each.row.id} className="row">
            <strong className="grow">{each.row.name}</strong>
            <Chip tone={each.known === "pinned" ? "good" : ""}>{t(`plan.${each.known}`)}</Chip>
            {each.known !== "pinned" && hasGround && each.row.permissions.includes("put") && (
              <Button
                variant="default"
                size="compact-sm"
                aria-label={t("plan.place-named", { name: each.row.name })}
                onClick={() => onPlace(each)}
              >
                {t("plan.place")}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function PictureButtons({ params, isThere }: { params: FloorParams; isThere: boolean }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const input = useRef<HTMLInputElement>(null);
  const change = useRowMutation("floors", async (file: File | null) => {
    if (file) {
      const form = new FormData();
      form.append("floorPlanImage", file);
      await client.put(FLOOR, { ...params }, form);
      notify(t("saved"));
    } else {
      await client.put(FLOOR, { ...params }, { floorPlanImage: null });
      notify(t("plan.taken-away"));
    }
  });
  return (
    <>
      <div className="row">
        <input
          ref={input}
          hidden
          type="file"
          aria-label={t("plan.choose")}
          accept="image/png,image/jpeg,image/gif"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) change.mutate(file);
            event.currentTarget.value = "";
          }}
        />
        <Button
          variant={isThere ? "default" : "filled"}
          loading={change.isPending}
          onClick={() => input.current?.click()}
        >
          {t(isThere ? "plan.replace" : "plan.choose")}
        </Button>
        {isThere && (
          <Button variant="default" c="var(--bad)" disabled={change.isPending} onClick={() => change.mutate(null)}>
            {t("plan.take-away")}
          </Button>
        )}
      </div>
      <ErrorLine error={change.error} />
    </>
  );
}
