import { Button } from "@mantine/core";
import { useState } from "react";
import type { AlarmActionRow } from "../../api/alarm-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import type { Translator } from "../../i18n/translator.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { FieldOverrides } from "../../ui/form/form-fields.ts";
import { RemoveButton } from "../../ui/remove-button.tsx";
import { NEW, RowSheet } from "../../ui/row-sheet.tsx";
import { usePendingRemovalIds } from "../../ui/use-removal.ts";

const ROUTE = "alarms/{alarmId}/actions";
const STATUSES = ["ACTIVE", "OK"] as const;

/** Notifications sent when an alarm becomes active and when it is resolved. */
export function AlarmNotifications({ alarmId }: { alarmId: string }) {
  const translator = useTranslation();
  const { t, name } = translator;
  const [adding, setAdding] = useState(false);
  const gone = usePendingRemovalIds();
  const found = useRows<AlarmActionRow>(ROUTE, { alarmId }, { limit: 1_000 });
  const actions = (found.data?.data ?? []).filter(({ id }) => !gone.has(id));
  return (
    <section className="stack">
      <ErrorLine error={found.error} />
      {found.data && actions.length === 0 && <p className="soft">{t("alarm.no-messages")}</p>}
      <ul className="plain">
        {actions.map((row) => {
          const when = name("alarm.message-on", row.triggerOnStatus);
          return (
            <li key={row.id} className="row">
              <span>
                {when}
                {row.messageTemplate && `: ${row.messageTemplate.name}`}{" "}
                <small className="soft">{recipientsOf(row, translator)}</small>
              </span>
              {row.permissions.includes("delete") && (
                <RemoveButton
                  route={`${ROUTE}/{actionId}`}
                  params={{ alarmId, actionId: row.id }}
                  id={row.id}
                  name={when}
                />
              )}
            </li>
          );
        })}
      </ul>
      <NotifyAdministrators alarmId={alarmId} actions={actions} />
      <div>
        <Button variant="default" onClick={() => setAdding(true)}>
          {t("alarm.add-message")}
        </Button>
      </div>
      {adding && <NewMessage alarmId={alarmId} onClose={() => setAdding(false)} />}
    </section>
  );
}

function recipientsOf(row: AlarmActionRow, { t }: Pick<Translator, "t">): string {
  if (row.messageTemplateId === null) return t("alarm.to-admins");
  const lists = [row.areaOfInterestIds, row.collaborationGroupIds, row.deviceGroupIds, row.distributionListIds];
  const n = lists.reduce((sum, ids) => sum + ids.length, row.userIds.length);
  return n === 0 ? t("alarm.to-template") : t("alarm.to-n", { count: n });
}

/** One click tells the administration of both, as far as it is not told yet. */
function NotifyAdministrators({ alarmId, actions }: { alarmId: string; actions: readonly AlarmActionRow[] }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const missing = STATUSES.filter(
    (status) => !actions.some((row) => row.triggerOnStatus === status && row.messageTemplateId === null),
  );
  const tell = useRowMutation<void, void>("alarm-actions", async () => {
    for (const triggerOnStatus of missing) await client.post(ROUTE, { alarmId }, { triggerOnStatus });
    notify(t("alarm.told"));
  });
  if (missing.length === 0) return null;
  return (
    <div className="stack">
      <p className="soft">{t("alarm.tell-admins-text")}</p>
      <div>
        <Button loading={tell.isPending} onClick={() => tell.mutate()}>
          {t("alarm.tell-admins")}
        </Button>
      </div>
      <ErrorLine error={tell.error} />
    </div>
  );
}

function NewMessage({ alarmId, onClose }: { alarmId: string; onClose: () => void }) {
  const { t, name } = useTranslation();
  const who = { hint: t("alarm.who-hint"), kind: "rows" } as const;
  const fields: FieldOverrides[] = [
    {
      name: "triggerOnStatus",
      choices: STATUSES.map((value) => ({ value, label: name("alarm.message-on", value) })),
    },
    { name: "messageTemplateId", kind: "row", from: "message-templates", hint: t("alarm.template-hint") },
    { name: "distributionListIds", from: "distribution-lists", ...who },
    { name: "userIds", from: "users", ...who },
    { name: "deviceGroupIds", from: "device-groups", ...who },
  ];
  return (
    <RowSheet
      id={NEW}
      item={`${ROUTE}/{actionId}`}
      within={{ alarmId }}
      newTitle={t("alarm.add-message")}
      initial={{ triggerOnStatus: "ACTIVE" }}
      fields={fields}
      onClose={onClose}
    />
  );
}
