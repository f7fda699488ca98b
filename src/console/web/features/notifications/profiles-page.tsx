import type { JsonSchema } from "../../api/client.ts";
import type { ProfileRow, ProfileSettingRow } from "../../api/place-rows.ts";
import { useRow, useRowMutation, useRows, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CloneButton } from "../../ui/clone-button.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import type { FormValues } from "../../ui/form/form-fields.ts";
import { ListPage } from "../../ui/list/list-page.tsx";
import { RowSheet } from "../../ui/row-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { settingBody, settingFields } from "./profile-settings.ts";
import "../../ui/lines.css";

/** What messages are sent with, channel by channel. */
export default function ProfilesPage() {
  const { t } = useTranslation();
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
  const { t } = useTranslation();
  const settings = useRows<ProfileSettingRow>("notification-profiles/{notificationProfileId}/settings", {
    notificationProfileId,
  });
  const schemas = useSchemas();
  const row = useRow<ProfileRow>("notification-profiles/{notificationProfileId}", { notificationProfileId });
  const canChange = row.data?.permissions.includes("put") ?? false;
  return (
    <section className="stack">
      <p className="soft">{t("profiles.settings-text")}</p>
      <ErrorLine error={settings.error ?? row.error ?? schemas.error} />
      <ul className="plain lined">
        {schemas.data &&
          settings.data?.data.map((setting) => (
            <li key={setting.id}>
              <details>
                <summary>
                  <span className="row">
                    <strong>{setting.name}</strong>
                    <SettingState setting={setting} />
                  </span>
                </summary>
                <Setting
                  key={JSON.stringify(setting)}
                  {...{ notificationProfileId, setting, canChange }}
                  schema={schemas.data.profiles[setting.id]}
                />
              </details>
            </li>
          ))}
      </ul>
    </section>
  );
}

function SettingState({ setting: { disabled, extension } }: { setting: ProfileSettingRow }) {
  const { t } = useTranslation();
  if (extension.globalDisabled) return <Chip tone="warn">{t("profiles.off-everywhere")}</Chip>;
  return disabled ? <Chip tone="warn">{t("profiles.off")}</Chip> : <Chip tone="good">{t("profiles.on")}</Chip>;
}

interface SettingProps extends ProfileParams {
  setting: ProfileSettingRow;
  canChange: boolean;
  /** What may be said of the extension; nothing where there is no such thing. */
  schema: JsonSchema | undefined;
}

/** One channel: whether it is used, and its settings, which begin as they are sent with. */
function Setting({ notificationProfileId, setting, canChange, schema }: SettingProps) {
  const translator = useTranslation();
  const { client, notify } = useConsole();
  const { id: settingId, disabled, value, extension } = setting;
  const change = useRowMutation("notification-profiles", async (changed: FormValues) => {
    const route = "notification-profiles/{notificationProfileId}/settings/{settingId}";
    await client.put(route, { notificationProfileId, settingId }, settingBody(changed, value));
    notify(translator.t("saved"));
  });
  const fields = settingFields(schema, translator);
  return (
    <div className="stack">
      {fields.length === 0 && <p className="soft">{translator.t("profiles.no-settings")}</p>}
      <Form
        fields={canChange ? [{ name: "disabled", kind: "switch" }, ...fields] : []}
        before={{ ...(extension.effectiveConfig as FormValues), disabled }}
        pending={change.isPending}
        error={change.error}
        onSave={(changed) => change.mutate(changed)}
      />
    </div>
  );
}
