import type { IncidentRow } from "../../api/scenario-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Chip } from "../../ui/status-chip.tsx";

/** Whether an incident goes on. */
export function IncidentStateChip({ row }: { row: Pick<IncidentRow, "endedAt"> }) {
  const { t } = useTranslation();
  return row.endedAt === null ? (
    <Chip tone="warn">{t("incident-state.going")}</Chip>
  ) : (
    <Chip tone="good">{t("incident-state.ended")}</Chip>
  );
}
