import { Button } from "@mantine/core";
import { useState } from "react";
import type { DeviceRow, EndpointRow } from "../../api/rows.ts";
import { useAppliance, useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { type GroupDraft, isGroupComplete } from "../devices/group-definition.ts";
import { GroupFilterRow } from "../devices/group-filter-row.tsx";
import { configWith, LICENCE_FILTERS, type LicenceFilter, licenceDraft } from "./licence-definition.ts";

/** Which devices of the appliance are licensed, by kind. */
export function LicenceFilters() {
  const appliance = useAppliance();
  if (!appliance) return null;
  return (
    <div className="stack">
      {LICENCE_FILTERS.map((filter) => (
        <KindFilter key={filter.name} appliance={appliance} filter={filter} />
      ))}
    </div>
  );
}

function KindFilter({ appliance, filter }: { appliance: EndpointRow; filter: LicenceFilter }) {
  const { t, name } = useTranslation();
  const { client, notify } = useConsole();
  const before = licenceDraft(appliance.config, filter);
  const [draft, setDraft] = useState<GroupDraft | null>(before);
  const saving = useRowMutation<void, void>("endpoints", async () => {
    const { id: endpointId, extensionId } = appliance;
    const config = configWith(appliance.config, filter, draft);
    await client.put("extensions/{extensionId}/endpoints/{endpointId}", { extensionId, endpointId }, { config });
    notify(t("saved"));
  });
  const dirty = JSON.stringify(draft) !== JSON.stringify(before);
  const unsaved = useUnsavedChanges(dirty && !saving.isPending);
  return (
    <section className="card" aria-label={name("type", filter.type)}>
      <h3>{name("type", filter.type)}</h3>
      <Licensed type={filter.type} />
      {draft === null ? (
        <p className="soft">{t("licence.elsewhere")}</p>
      ) : (
        <>
          <GroupFilterRow draft={draft} onChange={(part) => setDraft({ ...draft, ...part })} />
          {unsaved}
          <ErrorLine error={saving.error} />
          {appliance.permissions.includes("put") && (
            <div>
              <Button
                disabled={!dirty || !isGroupComplete(draft)}
                loading={saving.isPending}
                onClick={() => saving.mutate()}
              >
                {t("save")}
              </Button>
            </div>
          )}
        </>
      )}
    </section>
  );
}

function Licensed({ type }: { type: string }) {
  const { t } = useTranslation();
  const all = useRows<DeviceRow>("devices", {}, { type, limit: 1 });
  const licensed = useRows<DeviceRow>("devices", {}, { type, isLicensed: true, limit: 1 });
  return (
    <p className="soft" aria-live="polite">
      {all.data && licensed.data && t("licence.count", { licensed: licensed.data.total, all: all.data.total })}
    </p>
  );
}
