import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { AlarmRow } from "../../api/alarm-rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import "../../ui/input-styles.ts";

/** Who acknowledged an alarm, or a form to acknowledge it; nothing without a problem. */
export function Acknowledgement({ row }: { row: AlarmRow }) {
  if (row.status !== "ACTIVE") return null;
  return row.acknowledgedAt === null ? <Acknowledge alarmId={row.id} /> : <Acknowledged row={row} />;
}

function Acknowledged({ row }: { row: AlarmRow }) {
  const { t } = useTranslation();
  return (
    <p className="row tight">
      <Chip tone="">{t("alarm.acknowledged")}</Chip>
      <span>
        {row.acknowledgedBy} <Timestamp at={row.acknowledgedAt} />
      </span>
      {row.acknowledgementNote && <span className="soft">{row.acknowledgementNote}</span>}
    </p>
  );
}

function Acknowledge({ alarmId }: { alarmId: string }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [note, setNote] = useState("");
  const saying = useRowMutation<void, void>("alarms", async () => {
    await client.post("alarms/{alarmId}/acknowledge", { alarmId }, note === "" ? {} : { note });
    notify(t("saved"));
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        saying.mutate();
      }}
    >
      <TextInput
        label={t("alarm.acknowledge-note")}
        description={t("alarm.acknowledge-hint")}
        maxLength={255}
        value={note}
        error={fieldErrorText(saying.error, "note", translator)}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <ErrorLine error={saying.error} />
      <div>
        <Button type="submit" loading={saying.isPending}>
          {t("alarm.acknowledge")}
        </Button>
      </div>
    </form>
  );
}
