import type { DryRunResult, RingListRow } from "../../api/bell-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CloneButton } from "../../ui/clone-button.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { shortTime } from "./calendar-dates.ts";
import { RingDiff } from "./ring-diff.tsx";
import { type RingEntryInput, ringEntryInputs } from "./ring-entries.ts";
import { RingsEditor } from "./rings-editor.tsx";
import { FirstSchedule } from "./starter-schedule.tsx";
import { useRingDiff } from "./use-ring-diff.ts";
import "./bells.css";
import "../../ui/lines.css";

/** The kinds of days, each with its rings. */
export default function RingListsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<RingListRow>
      tabs="bells"
      title={t("ring-lists.title")}
      add={t("ring-lists.add")}
      none={
        <>
          <p>{t("ring-lists.none")}</p>
          <FirstSchedule />
        </>
      }
      route="ring-lists"
      columns={[
        {
          id: "rings",
          head: t("ring-lists.rings"),
          width: "8rem",
          side: true,
          cell: ({ entries }) => t("ring-lists.count", { count: entries.length }),
        },
        { id: "hours", head: t("ring-lists.hours"), width: "9rem", cell: (row) => hoursOf(row) },
        { id: "description", head: t("bells.what-for"), width: "2fr", cell: (row) => row.description ?? "" },
      ]}
      sheet={(id, onClose) => <RingListSheet key={id} ringListId={id} onClose={onClose} />}
    />
  );
}

/** From the first ring to the last. */
function hoursOf({ entries }: RingListRow): string {
  const [first, last] = [entries[0], entries.at(-1)];
  return first && last ? `${shortTime(first.time)} – ${shortTime(last.time)}` : "–";
}

function RingListSheet({ ringListId, onClose }: { ringListId: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={ringListId}
      item="ring-lists/{ringListId}"
      newTitle={t("ring-lists.add")}
      initial={{ entries: [] }}
      wide
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "description", label: t("bells.what-for") },
        { name: "isShared", hint: t("lists.shared-hint") },
        { name: "entries", kind: "own", draw: (given) => <RingsEditor key="entries" {...given} /> },
        {
          name: "difference",
          kind: "own",
          draw: (given) => <ListDifference key="difference" ringListId={ringListId} {...given} />,
        },
      ]}
    >
      <CloneButton route="ring-lists/{ringListId}/clone" params={{ ringListId }} />
    </RowSheet>
  );
}

function ListDifference({ ringListId, values }: CustomFieldProps & { ringListId: string }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const body = { entries: ringEntryInputs((values.entries ?? []) as RingEntryInput[]) };
  const found = useRingDiff(ringListId === NEW ? null : body, (asked, query) =>
    client.put<DryRunResult>("ring-lists/{ringListId}", { ringListId }, asked, query),
  );
  return found ? <RingDiff {...found} before={t("ring-diff.counting")} /> : null;
}
