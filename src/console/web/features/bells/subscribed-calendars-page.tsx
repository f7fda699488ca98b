import type { CalendarSubscriptionRow } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { SubscribedCalendar } from "./subscribed-calendar.tsx";
import "../../ui/lines.css";

const TONES = {
  ...{ new: "muted", current: "good", waiting: "warn", held: "warn", failed: "bad", unreachable: "warn" },
} as const;

/** Calendars of others whose days schedules follow. */
export default function SubscribedCalendarsPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<CalendarSubscriptionRow>
      tabs="bells"
      title={t("subscribed.title")}
      add={t("subscribed.add")}
      none={t("subscribed.none")}
      route="calendar-subscriptions"
      columns={[
        { id: "host", head: t("subscribed.host"), width: "1.5fr", cell: (row) => row.host ?? "–" },
        { id: "days", head: t("subscribed.days"), width: "8rem", cell: (row) => String(row.days ?? "–") },
        {
          id: "read",
          head: t("subscribed.read"),
          width: "10rem",
          side: true,
          cell: (row) => (row.readAt ? <Timestamp at={row.readAt} /> : "–"),
        },
        {
          id: "state",
          head: t("field.status"),
          width: "10rem",
          cell: (row) => <Chip tone={TONES[row.state ?? "new"]}>{name("calendar-state", row.state ?? "new")}</Chip>,
        },
      ]}
      sheet={(id, onClose) => <CalendarSheet key={id} id={id} onClose={onClose} />}
    />
  );
}

function CalendarSheet({ id, onClose }: { id: string; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <RowSheet
      id={id}
      item="calendar-subscriptions/{calendarSubscriptionId}"
      newTitle={t("subscribed.add")}
      onClose={onClose}
      initial={{ bellScheduleIds: [], refreshMinutes: 360, shrinkThreshold: 30 }}
      fields={[
        { name: "name" },
        { name: "url", hint: t("subscribed.url-hint") },
        { name: "bellScheduleIds", kind: "rows", from: "bell-schedules", hint: t("subscribed.schedules-hint") },
        { name: "ringListId", kind: "row", from: "ring-lists", hint: t("subscribed.ring-list-hint") },
        { name: "refreshMinutes", label: t("subscribed.refresh"), hint: t("subscribed.refresh-hint") },
        { name: "shrinkThreshold", label: t("subscribed.shrink"), hint: t("subscribed.shrink-hint") },
        { name: "autoConfirmMinutes", label: t("subscribed.confirm-after"), hint: t("subscribed.confirm-after-hint") },
        { name: "disabled", hint: t("subscribed.disabled-hint") },
      ]}
    >
      {id !== NEW && <SubscribedCalendar id={id} />}
    </RowSheet>
  );
}
