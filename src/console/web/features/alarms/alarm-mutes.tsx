import { Button } from "@mantine/core";
import { useState } from "react";
import type { AlarmMuteRow, MutePreview } from "../../api/alarm-rows.ts";
import { useRow, useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { FieldOverrides } from "../../ui/form/form-fields.ts";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { Timestamp } from "../../ui/timestamp.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";

const ROUTE = "alarms/{alarmId}/mutes";

/** What of an alarm's messages is kept back, and until when. */
export function AlarmMutes({ alarmId }: { alarmId: string }) {
  const { t } = useTranslation();
  const [adding, setAdding] = useState(false);
  const gone = usePendingRemovalIds();
  const found = useRows<AlarmMuteRow>(ROUTE, { alarmId }, { limit: 100 });
  const mutes = (found.data?.data ?? []).filter(({ id }) => !gone.has(id));
  return (
    <section className="stack">
      <ErrorLine error={found.error} />
      {found.data && mutes.length === 0 && <p className="soft">{t("alarm.no-mutes")}</p>}
      <ul className="plain">
        {mutes.map((row) => {
          const what = row.reason ? t("alarm.reason-with", { reason: row.reason }) : t("alarm.everything");
          return (
            <li key={row.id} className="row">
              <span>
                {what}{" "}
                <small className="soft">
                  {row.until ? (
                    <>
                      {t("alarm.until")} <Timestamp at={row.until} />
                    </>
                  ) : (
                    t("alarm.for-ever")
                  )}{" "}
                  {row.note}
                </small>
              </span>
              {row.permissions.includes("delete") && (
                <RemoveButton
                  route={`${ROUTE}/{muteId}`}
                  params={{ alarmId, muteId: row.id }}
                  id={row.id}
                  name={what}
                />
              )}
            </li>
          );
        })}
      </ul>
      <div>
        <Button variant="default" onClick={() => setAdding(true)}>
          {t("alarm.add-mute")}
        </Button>
      </div>
      {adding && <NewMute alarmId={alarmId} onClose={() => setAdding(false)} />}
    </section>
  );
}

function NewMute({ alarmId, onClose }: { alarmId: string; onClose: () => void }) {
  const { t } = useTranslation();
  const fields: FieldOverrides[] = [
    { name: "reason", hint: t("alarm.reason-hint") },
    { name: "until", hint: t("alarm.until-hint") },
    { name: "note" },
    {
      name: "preview",
      kind: "own",
      draw: ({ values }) => <Preview key="preview" alarmId={alarmId} reason={String(values.reason ?? "")} />,
    },
  ];
  return (
    <RowSheet
      id={NEW}
      item={`${ROUTE}/{muteId}`}
      within={{ alarmId }}
      newTitle={t("alarm.add-mute")}
      fields={fields}
      onClose={onClose}
    />
  );
}

/** What it would have kept back lately. */
function Preview({ alarmId, reason }: { alarmId: string; reason: string }) {
  const { t } = useTranslation();
  const given = { reason: reason === "" ? undefined : reason };
  const { data } = useRow<MutePreview>("alarms/{alarmId}/mute-preview", { alarmId }, given);
  return (
    <p className="soft" role="status">
      {data && t("alarm.preview", { count: data.total, withheld: String(data.withheld) })}
    </p>
  );
}
