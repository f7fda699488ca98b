import { Button } from "@mantine/core";
import { useCallback, useState } from "react";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Form } from "../../ui/form/form.tsx";
import type { FormField, FormValues } from "../../ui/form/form-fields.ts";
import { Chip } from "../../ui/status-chip.tsx";
import type { PlanPoint } from "./georeference.ts";
import { boundaryOf, boxAround, FIRST_BOX, type PlanBox, typedBox } from "./plan-box.ts";

/** A zone on its floor's plan; its outline is null until it has one. */
export interface PlanZone {
  id: string;
  name: string;
  outline: readonly PlanPoint[] | null;
}

interface ZoneOutlinesProps {
  params: { siteId: string; buildingId: string; floorId: string };
  zones: readonly PlanZone[];
  /** The outline that is being typed, to be seen on the plan; null when there is none. */
  onDraft(draft: PlanZone | null): void;
}

const FIELDS: readonly FormField[] = [
  { name: "left", kind: "number", required: true, min: 0, max: 99 },
  { name: "top", kind: "number", required: true, min: 0, max: 99 },
  { name: "width", kind: "number", required: true, min: 1, max: 100 },
  { name: "height", kind: "number", required: true, min: 1, max: 100 },
];

/** Zones of a floor and their outlines on the plan, as rectangles with a live preview. */
export function ZoneOutlines({ params, zones, onDraft }: ZoneOutlinesProps) {
  const { t } = useTranslation();
  const [open, setOpen] = useState<string | null>(null);
  const close = () => {
    setOpen(null);
    onDraft(null);
  };
  if (zones.length === 0) return null;
  return (
    <section className="stack">
      <h3>{t("plan.zones")}</h3>
      <ul className="plain lined">
        {zones.map((zone) => (
          <li key={zone.id} className="stack">
            <div className="row">
              <strong className="grow">{zone.name}</strong>
              <Chip tone={zone.outline ? "good" : ""}>{t(zone.outline ? "plan.outlined" : "plan.unpinned")}</Chip>
              <Button
                variant="default"
                size="compact-sm"
                aria-expanded={open === zone.id}
                aria-label={t("plan.outline-named", { name: zone.name })}
                onClick={() => (open === zone.id ? close() : setOpen(zone.id))}
              >
                {t("plan.outline")}
              </Button>
            </div>
            {open === zone.id && <OutlineForm key={zone.id} {...{ params, zone, onDraft }} onDone={close} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface OutlineFormProps {
  params: ZoneOutlinesProps["params"];
  zone: PlanZone;
  onDraft: ZoneOutlinesProps["onDraft"];
  onDone(): void;
}

function OutlineForm({ params, zone, onDraft, onDone }: OutlineFormProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const { id, name, outline } = zone;
  const [before] = useState<PlanBox | null>(() => outline && boxAround(outline));
  const save = useRowMutation("zones", async (boundary: readonly (readonly [number, number])[] | null) => {
    const route = "sites/{siteId}/buildings/{buildingId}/floors/{floorId}/zones/{zoneId}";
    await client.put(route, { ...params, zoneId: id }, { boundary });
    notify(t("saved"));
    onDone();
  });
  const show = useCallback(
    (values: FormValues) => {
      const box = typedBox(values);
      if (box) onDraft({ id, name, outline: boundaryOf(box).map(([x, y]) => ({ x, y })) });
    },
    [onDraft, id, name],
  );
  const take = (changed: Record<string, unknown>) => {
    const box = typedBox({ ...before, ...changed });
    if (box) save.mutate(boundaryOf(box));
  };
  return (
    <>
      <p className="soft">{t("plan.outline-hint")}</p>
      <Form
        fields={FIELDS}
        before={before ? { ...before } : {}}
        {...(before ? {} : { initial: { ...FIRST_BOX } })}
        pending={save.isPending}
        error={save.error}
        onSave={take}
        onValues={show}
        onRemove={before ? () => save.mutate(null) : undefined}
      />
    </>
  );
}
