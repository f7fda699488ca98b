import { Switch } from "@mantine/core";
import { ALARM_THRESHOLDS, type AlarmType } from "../../../../resources/alarms/alarm-types.ts";
import type { AlarmEventRow, AlarmRow } from "../../api/alarm-rows.ts";
import { useAppliance, useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import { ListTable } from "../../ui/list/list-table.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { SheetTabs } from "../../ui/sheet-tabs.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { Acknowledgement } from "./acknowledgement.tsx";
import { AlarmMutes } from "./alarm-mutes.tsx";
import { AlarmNotifications } from "./alarm-notifications.tsx";

/** One alarm: current state, history, notifications and mutes. */
export function AlarmSheet({ alarmId, onClose }: { alarmId: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const alarm = useRow<AlarmRow>("alarms/{alarmId}", { alarmId }, { includeThresholds: true });
  const row = alarm.data?.id === alarmId ? alarm.data : null;
  const title = row ? name("alarm-type", row.type) : "";
  return (
    <SideSheet title={title} onClose={onClose}>
      <ErrorLine error={alarm.error} />
      {row ? (
        <SheetTabs
          label={title}
          tabs={[
            { id: "now", label: t("alarm.now"), content: <Now row={row} /> },
            { id: "history", label: t("alarm.history"), content: <History alarmId={alarmId} /> },
            { id: "messages", label: t("alarm.messages"), content: <AlarmNotifications alarmId={alarmId} /> },
            { id: "quiet", label: t("alarm.quiet"), content: <AlarmMutes alarmId={alarmId} /> },
          ]}
        />
      ) : (
        <p role="status">{t("page.reading")}</p>
      )}
    </SideSheet>
  );
}

function useAlarmChange(alarmId: string) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  return useRowMutation<object, void>("alarms", async (changed) => {
    await client.put("alarms/{alarmId}", { alarmId }, changed);
    notify(t("saved"));
  });
}

function Now({ row }: { row: AlarmRow }) {
  const { t } = useTranslation();
  const change = useAlarmChange(row.id);
  return (
    <div className="stack">
      {row.reasons.length === 0 && <p className="soft">{t("alarm.well")}</p>}
      <ul className="plain">
        {row.reasons.map(({ endpointId, endpointName, reason, reasonSentence, since }) => (
          <li key={`${endpointId} ${reason}`}>
            <SentenceText text={reason} sentence={reasonSentence} />{" "}
            <small className="soft">
              {endpointName} {t("alarm.since")} <Timestamp at={since} />
            </small>
          </li>
        ))}
      </ul>
      <Acknowledgement row={row} />
      <Switch
        label={t("alarm.mute")}
        description={t("alarm.mute-hint")}
        checked={row.muted}
        disabled={change.isPending || !row.permissions.includes("put")}
        onChange={(event) => change.mutate({ muted: event.currentTarget.checked })}
      />
      <ErrorLine error={change.error} />
      {ALARM_THRESHOLDS[row.type as AlarmType] && <Threshold row={row} />}
    </div>
  );
}

/** What this appliance may exceed without an alarm. */
function Threshold({ row }: { row: AlarmRow }) {
  const { name } = useTranslation();
  const change = useAlarmChange(row.id);
  const endpointId = useAppliance()?.id;
  if (!endpointId || !row.permissions.includes("put")) return null;
  const thresholds = row.alarmThresholds ?? [];
  const own = thresholds.find((each) => each.endpointId === endpointId);
  const limits = ALARM_THRESHOLDS[row.type as AlarmType];
  const others = thresholds.filter((each) => each !== own);
  return (
    <Form
      key={own?.threshold ?? "none"}
      fields={[
        {
          name: "threshold",
          kind: "number",
          label: name("alarm-allowed", row.type),
          min: 0,
          ...(limits && { max: limits.max }),
          required: true,
        },
      ]}
      before={{ threshold: Number(own?.threshold ?? limits?.default ?? 0) }}
      pending={change.isPending}
      error={change.error}
      onSave={({ threshold }) => change.mutate({ alarmThresholds: [...others, { ...own, endpointId, threshold }] })}
    />
  );
}

function History({ alarmId }: { alarmId: string }) {
  const { t, name, say } = useTranslation();
  return (
    <div className="members-table">
      <ListTable<AlarmEventRow>
        label={t("alarm.history")}
        route="alarms/{alarmId}/events"
        params={{ alarmId }}
        sort="-createdAt"
        columns={[
          {
            id: "status",
            head: t("field.status"),
            width: "8rem",
            cell: (row) => (
              <Chip tone={row.status === "ACTIVE" ? "bad" : "good"}>{name("alarm.entered", row.status)}</Chip>
            ),
          },
          {
            id: "why",
            head: t("alarm.why"),
            width: "1fr",
            cell: (row) => (
              <span title={row.reasonSentences.map((each) => say(each.text, each)).join("\n")}>
                {row.reasonSentences.slice(0, 1).map((each) => say(each.text, each))[0] ?? "–"}{" "}
                <small className="soft">
                  {row.endpointName} <Timestamp at={row.createdAt} />
                </small>
              </span>
            ),
          },
        ]}
        empty={<p>{t("alarm.no-history")}</p>}
      />
    </div>
  );
}
