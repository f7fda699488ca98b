import type { ScreenClearingRow } from "../../api/bell-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { localTimeText } from "../bells/calendar-dates.ts";
import { RecurrenceFields } from "../bells/recurrence-fields.tsx";
import "../bells/bells.css";
import "../../ui/lines.css";

const ROUTE = "clear-devices-schedules/{clearDevicesScheduleId}";

/** When devices are cleared of what they still show. */
export default function ScreenClearingPage() {
  const { t, language } = useTranslation();
  return (
    <ListPage<ScreenClearingRow>
      tabs="bells"
      title={t("screen-clearing.title")}
      add={t("screen-clearing.add")}
      none={t("screen-clearing.none")}
      route="clear-devices-schedules"
      columns={[
        {
          id: "next",
          head: t("scheduled.next"),
          width: "2fr",
          side: true,
          cell: ({ nextLocalTime }) =>
            nextLocalTime ? (
              <time dateTime={nextLocalTime}>{localTimeText(nextLocalTime, language, "medium")}</time>
            ) : (
              <Chip tone="plain">{t("scheduled.over")}</Chip>
            ),
        },
      ]}
      sheet={(id, onClose) => <ScreenClearingSheet key={id} clearDevicesScheduleId={id} onClose={onClose} />}
    />
  );
}

function ScreenClearingSheet({
  clearDevicesScheduleId,
  onClose,
}: {
  clearDevicesScheduleId: string;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const isNew = clearDevicesScheduleId === NEW;
  return (
    <RowSheet
      id={clearDevicesScheduleId}
      item={ROUTE}
      newTitle={t("screen-clearing.add")}
      initial={{ cronExpression: "0 0 18 ? * *" }}
      onClose={onClose}
      fields={[
        { name: "name" },
        {
          name: "cronExpression",
          kind: "own",
          draw: (given) => (
            <RecurrenceFields
              key="cron"
              {...given}
              field="cronExpression"
              body={{ name: String(given.values.name || "–"), cronExpression: given.values.cronExpression }}
              ask={(body, query) =>
                isNew
                  ? client.post<ScreenClearingRow>("clear-devices-schedules", {}, body, {}, query)
                  : client.put<ScreenClearingRow>(ROUTE, { clearDevicesScheduleId }, body, query)
              }
            />
          ),
        },
      ]}
    />
  );
}
