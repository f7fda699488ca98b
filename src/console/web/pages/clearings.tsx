import type { ClearingRow } from "../api/bell-rows.ts";
import { RuleFields } from "../bells/rule-fields.tsx";
import { useConsole } from "../console-context.tsx";
import { ListPage } from "../list/list-page.tsx";
import { Chip } from "../parts/level-chip.tsx";
import { Moment } from "../parts/moment.tsx";
import { NEW, RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import "../bells/bells.css";
import "../parts/lines.css";

const ROUTE = "clear-devices-schedules/{clearDevicesScheduleId}";

/** When devices are cleared of what they still show. */
export default function ClearingsPage() {
  const { t } = useWords();
  return (
    <ListPage<ClearingRow>
      tabs="bells"
      title={t("clearing.title")}
      add={t("clearing.add")}
      none={t("clearing.none")}
      route="clear-devices-schedules"
      columns={[
        {
          id: "next",
          head: t("scheduled.next"),
          width: "2fr",
          side: true,
          cell: ({ nextFireTime }) =>
            nextFireTime ? <Moment at={nextFireTime} /> : <Chip tone="plain">{t("scheduled.over")}</Chip>,
        },
      ]}
      sheet={(id, onClose) => <ClearingSheet key={id} clearDevicesScheduleId={id} onClose={onClose} />}
    />
  );
}

function ClearingSheet({ clearDevicesScheduleId, onClose }: { clearDevicesScheduleId: string; onClose: () => void }) {
  const { t } = useWords();
  const { client } = useConsole();
  const isNew = clearDevicesScheduleId === NEW;
  return (
    <RowSheet
      id={clearDevicesScheduleId}
      item={ROUTE}
      newTitle={t("clearing.add")}
      initial={{ cronExpression: "0 0 18 ? * *" }}
      onClose={onClose}
      fields={[
        { name: "name" },
        {
          name: "cronExpression",
          kind: "own",
          draw: (given) => (
            <RuleFields
              key="cron"
              {...given}
              field="cronExpression"
              body={{ name: String(given.values.name || "–"), cronExpression: given.values.cronExpression }}
              ask={(body, query) =>
                isNew
                  ? client.post<ClearingRow>("clear-devices-schedules", {}, body, {}, query)
                  : client.put<ClearingRow>(ROUTE, { clearDevicesScheduleId }, body, query)
              }
            />
          ),
        },
      ]}
    />
  );
}
