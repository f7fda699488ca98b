import type { AlarmRow } from "../../api/alarm-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ListPage } from "../../ui/list/list-page.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { AlarmSheet } from "./alarm-sheet.tsx";
import "../../ui/lines.css";

/** What the appliance watches of itself. */
export default function AlarmsPage() {
  const { t, name } = useTranslation();
  return (
    <ListPage<AlarmRow>
      tabs="system"
      title={t("alarm.title")}
      none={t("alarm.none")}
      route="alarms"
      sort="createdAt"
      opener={{ head: t("alarm.what"), sort: null, text: (row) => name("alarm-type", row.type) }}
      columns={[
        { id: "status", head: t("field.status"), width: "14rem", side: true, cell: (row) => <AlarmState row={row} /> },
        {
          id: "why",
          head: t("alarm.why"),
          width: "3fr",
          cell: ({ reasons: [first] }) =>
            first ? <SentenceText text={first.reason} sentence={first.reasonSentence} /> : "",
        },
      ]}
      sheet={(id, onClose) => <AlarmSheet key={id} alarmId={id} onClose={onClose} />}
    />
  );
}

function AlarmState({ row }: { row: AlarmRow }) {
  const { t, name } = useTranslation();
  return (
    <span className="row tight">
      <Chip tone={row.status === "ACTIVE" ? "bad" : "good"}>{name("alarm.state", row.status)}</Chip>
      {row.acknowledgedAt && <Chip tone="">{t("alarm.acknowledged")}</Chip>}
      {row.muted && <Chip tone="warn">{t("alarm.muted")}</Chip>}
    </span>
  );
}
