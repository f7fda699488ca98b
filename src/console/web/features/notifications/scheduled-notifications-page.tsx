import type { ScheduledNotificationRow } from "../../api/bell-rows.ts";
import { useSiteClock } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CloneButton } from "../../ui/clone-button.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { localTimeText } from "../bells/calendar-dates.ts";
import { RecurrenceFields } from "../bells/recurrence-fields.tsx";
import "../bells/bells.css";
import "../../ui/lines.css";

/** Messages that are sent again and again by a rule. */
export default function ScheduledNotificationsPage() {
  const { t } = useTranslation();
  return (
    <ListPage<ScheduledNotificationRow>
      tabs="bells"
      title={t("scheduled.title")}
      add={t("scheduled.add")}
      none={t("scheduled.none")}
      route="scheduled-notifications"
      columns={[
        { id: "message", head: t("ring.message"), width: "2fr", cell: (row) => row.messageTemplate?.name ?? "" },
        { id: "next", head: t("scheduled.next"), width: "2fr", side: true, cell: (row) => <Next row={row} /> },
        { id: "zone", head: t("field.timeZone"), width: "1fr", cell: (row) => row.timeZone },
      ]}
      sheet={(id, onClose) => <ScheduledNotificationSheet key={id} scheduledNotificationId={id} onClose={onClose} />}
    />
  );
}

function Next({ row }: { row: ScheduledNotificationRow }) {
  const { t, language } = useTranslation();
  if (row.disabled) return <Chip tone="warn">{t("scheduled.disabled")}</Chip>;
  if (!row.nextLocalTime) return <Chip tone="plain">{t("scheduled.over")}</Chip>;
  return <time dateTime={row.nextLocalTime}>{localTimeText(row.nextLocalTime, language, "medium")}</time>;
}

const ROUTE = "scheduled-notifications/{scheduledNotificationId}";

interface SheetProps {
  scheduledNotificationId: string;
  onClose(): void;
}

function ScheduledNotificationSheet({ scheduledNotificationId, onClose }: SheetProps) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const isNew = scheduledNotificationId === NEW;
  const zone = useSiteClock().timeZone;
  const groups = { kind: "rows", hint: t("ring.as-message-hint") } as const;
  return (
    <RowSheet
      id={scheduledNotificationId}
      item={ROUTE}
      newTitle={t("scheduled.add")}
      initial={{ schedule: "0 30 7 ? * MON-FRI", timeZone: zone }}
      onClose={onClose}
      fields={[
        { name: "name" },
        { name: "messageTemplateId", kind: "row", from: "message-templates", label: t("ring.message") },
        { name: "timeZone" },
        {
          name: "schedule",
          kind: "own",
          draw: (given) => (
            <RecurrenceFields
              key="schedule"
              {...given}
              field="schedule"
              mayBeRule
              body={
                given.values.messageTemplateId
                  ? {
                      name: String(given.values.name || "–"),
                      messageTemplateId: given.values.messageTemplateId,
                      timeZone: given.values.timeZone,
                      schedule: given.values.schedule,
                    }
                  : null
              }
              ask={(body, query) =>
                isNew
                  ? client.post<ScheduledNotificationRow>("scheduled-notifications", {}, body, {}, query)
                  : client.put<ScheduledNotificationRow>(ROUTE, { scheduledNotificationId }, body, query)
              }
            />
          ),
        },
        { name: "deviceGroupIds", from: "device-groups", ...groups },
        { name: "distributionListIds", from: "distribution-lists", ...groups },
        { name: "disabled", label: t("scheduled.disable"), hint: t("scheduled.disable-hint") },
      ]}
    >
      <CloneButton route={`${ROUTE}/clone`} params={{ scheduledNotificationId }} />
    </RowSheet>
  );
}
