import { Button } from "@mantine/core";
import type { AreaRow } from "../../api/place-rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SheetTabs } from "../../ui/sheet-tabs.tsx";
import { useRemoval } from "../../ui/use-removal.ts";
import { type AreaDraft, areaBody, areaDraftOf } from "./area-draft.ts";
import { AreaForm } from "./area-form.tsx";
import { BoundaryTriggers } from "./boundary-triggers.tsx";
import { PeopleInside } from "./people-inside.tsx";

interface AreaPanelProps {
  /** Null for a new area. */
  row: AreaRow | null;
  draft: AreaDraft;
  onDraw(draft: AreaDraft): void;
  /** Back to all areas; or to the one that was just made. */
  onClose(madeId?: string): void;
}

/** Details of an area: fields, people inside and boundary triggers. */
export function AreaPanel({ row, draft, onDraw, onClose }: AreaPanelProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const removeSoon = useRemoval("areas-of-interest/{areaOfInterestId}");
  const save = useRowMutation("areas-of-interest", async (body: Record<string, unknown>) => {
    const saved = row
      ? await client.put<AreaRow>("areas-of-interest/{areaOfInterestId}", { areaOfInterestId: row.id }, body)
      : await client.post<AreaRow>("areas-of-interest", {}, body);
    notify(t("saved"));
    onDraw(areaDraftOf(saved));
    if (!row) onClose(saved.id);
  });
  const remove = () => {
    if (!row) return;
    void removeSoon({ id: row.id, name: row.name, params: { areaOfInterestId: row.id } });
    onClose();
  };
  const before = row && areaDraftOf(row);
  const form = (
    <AreaForm
      {...{ draft, before, onDraw }}
      pending={save.isPending}
      error={save.error}
      onSave={() => save.mutate(areaBody(draft))}
      onDiscard={() => before && onDraw(before)}
      onRemove={row?.permissions.includes("delete") ? remove : undefined}
    />
  );
  return (
    <section className="card area-panel">
      <div className="row">
        <h2 className="grow">{row?.name ?? t("areas.new")}</h2>
        <Button variant="default" size="compact-sm" onClick={() => onClose()}>
          {t("areas.back")}
        </Button>
      </div>
      {row ? (
        <SheetTabs
          label={row.name}
          tabs={[
            { id: "details", label: t("details"), content: form },
            { id: "inside", label: t("areas.inside"), content: <PeopleInside areaOfInterestId={row.id} /> },
            { id: "triggers", label: t("boundary.title"), content: <BoundaryTriggers areaOfInterestId={row.id} /> },
          ]}
        />
      ) : (
        form
      )}
    </section>
  );
}
