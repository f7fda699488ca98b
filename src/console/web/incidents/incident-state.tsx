import type { IncidentRow } from "../api/scenario-rows.ts";
import { Chip } from "../parts/level-chip.tsx";
import { useWords } from "../words/use-words.tsx";

/** Whether an incident goes on. */
export function IncidentStateChip({ row }: { row: Pick<IncidentRow, "endedAt"> }) {
  const { t } = useWords();
  return row.endedAt === null ? (
    <Chip tone="warn">{t("incident-state.going")}</Chip>
  ) : (
    <Chip tone="good">{t("incident-state.ended")}</Chip>
  );
}
