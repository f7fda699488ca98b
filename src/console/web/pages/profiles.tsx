import type { ProfileRow, ProfileSettingRow } from "../api/place-rows.ts";
import { useChange, useRow, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { ListPage } from "../list/list-page.tsx";
import { CloneButton } from "../parts/clone-button.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { Form } from "../parts/form.tsx";
import { Chip } from "../parts/level-chip.tsx";
import { RowSheet } from "../parts/row-sheet.tsx";
import { useWords } from "../words/use-words.tsx";
import "../parts/lines.css";

/** What messages are sent with, channel by channel. */
export default function ProfilesPage() {
  const { t } = useWords();
  return (
    <ListPage<ProfileRow>
      tabs="send"
      title={t("profiles.title")}
      add={t("profiles.add")}
      none={t("profiles.none")}
      route="notification-profiles"
      columns={[
        {
          id: "default",
          head: t("field.status"),
          width: "1fr",
          side: true,
          cell: (row) => (row.default ? <Chip tone="good">{t("profiles.default")}</Chip> : ""),
        },
      ]}
      sheet={(id, onClose) => (
        <RowSheet
          key={id}
          id={id}
          item="notification-profiles/{notificationProfileId}"
          newTitle={t("profiles.add")}
          onClose={onClose}
          fields={[{ name: "name" }, { name: "isShared", hint: t("lists.shared-hint") }]}
          tabs={[{ id: "settings", label: t("profiles.settings"), content: <Settings notificationProfileId={id} /> }]}
        >
          <CloneButton
            route="notification-profiles/{notificationProfileId}/clone"
            params={{ notificationProfileId: id }}
          />
        </RowSheet>
      )}
    />
  );
}

interface ProfileParams {
  notificationProfileId: string;
}

function Settings({ notificationProfileId }: ProfileParams) {
  const { t } = useWords();
  const settings = useRows<ProfileSettingRow>("notification-profiles/{notificationProfileId}/settings", {
    notificationProfileId,
  });
  const row = useRow<ProfileRow>("notification-profiles/{notificationProfileId}", { notificationProfileId });
  const canChange = row.data?.permissions.includes("put") ?? false;
  return (
    <section className="stack">
      <p className="soft">{t("profiles.settings-words")}</p>
      <FaultLine error={settings.error ?? row.error} />
      <ul className="plain lined">
        {settings.data?.data.map((setting) => (
          <li key={setting.id}>
            <details>
              <summary>
                <span className="row">
                  <strong>{setting.name}</strong>
                  <SettingState setting={setting} />
                </span>
              </summary>
              <Setting key={JSON.stringify(setting)} {...{ notificationProfileId, setting, canChange }} />
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

function SettingState({ setting: { disabled, extension } }: { setting: ProfileSettingRow }) {
  const { t } = useWords();
  if (extension.globalDisabled) return <Chip tone="warn">{t("profiles.off-everywhere")}</Chip>;
  return disabled ? <Chip tone="warn">{t("profiles.off")}</Chip> : <Chip tone="good">{t("profiles.on")}</Chip>;
}

function Setting({
  notificationProfileId,
  setting,
  canChange,
}: ProfileParams & { setting: ProfileSettingRow; canChange: boolean }) {
  const { t } = useWords();
  const { client, say } = useConsole();
  const { id: settingId, disabled, value, extension } = setting;
  const change = useChange("notification-profiles", async (changed: Record<string, unknown>) => {
    const route = "notification-profiles/{notificationProfileId}/settings/{settingId}";
    await client.put(route, { notificationProfileId, settingId }, changed);
    say(t("saved"));
  });
  return (
    <div className="stack">
      {canChange && (
        <Form
          fields={[
            { name: "disabled", kind: "switch" },
            { name: "value", kind: "json", hint: t("profiles.value-hint") },
          ]}
          before={{ disabled, value }}
          pending={change.isPending}
          error={change.error}
          onSave={(changed) => change.mutate(changed)}
        />
      )}
      <h3>{t("profiles.effective")}</h3>
      <pre className="scroll soft">{JSON.stringify(extension.effectiveConfig, null, 2)}</pre>
    </div>
  );
}
