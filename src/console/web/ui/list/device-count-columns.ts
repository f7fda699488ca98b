import type { GroupRow } from "../../api/rows.ts";
import type { useTranslation } from "../../i18n/use-translation.tsx";
import type { Column } from "./column.ts";

type Counted = Pick<GroupRow, "numPhones" | "numSpeakers">;

/** How many phones and speakers are in a group. */
export function deviceCountColumns<T extends Counted>(t: ReturnType<typeof useTranslation>["t"]): Column<T>[] {
  return [
    { id: "phones", head: t("type.phones"), width: "6rem", named: true, cell: (row) => row.numPhones ?? "–" },
    { id: "speakers", head: t("type.speakers"), width: "11rem", named: true, cell: (row) => row.numSpeakers ?? "–" },
  ];
}
