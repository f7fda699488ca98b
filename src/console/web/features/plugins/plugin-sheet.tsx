import { Button } from "@mantine/core";
import { NOTIFICATION_ACTIVITY_TYPES } from "../../../../resources/notifications/notification-activity-types.ts";
import type { ExtensionRow } from "../../api/rows.ts";
import { useRowMutation, useSchemas } from "../../api/use-rows.ts";
import { useConsole, useNow } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import { fieldsOf, formFields } from "../../ui/form/form-fields.ts";
import { SheetTabs } from "../../ui/sheet-tabs.tsx";
import { SideSheet } from "../../ui/side-sheet.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { PluginFiles } from "./plugin-files.tsx";
import { PluginHistory } from "./plugin-history.tsx";
import { PluginLog } from "./plugin-log.tsx";
import { PluginOrigin } from "./plugin-origin.tsx";
import { pluginStateText, pluginStatusText, pluginTone } from "./plugin-text.ts";

/** The mark and the sentence for a plugin's state. */
export function PluginState({ row }: { row: ExtensionRow }) {
  const translator = useTranslation();
  const now = useNow();
  const sentence = pluginStatusText(row, now, translator);
  return (
    <>
      <Chip tone={pluginTone(row)}>{translator.name("plugin", pluginStateText(row))}</Chip>
      {sentence && <span className="grow">{sentence}</span>}
    </>
  );
}

/** Restarts a plugin, also a failed one. Hidden for disabled plugins. */
export function RestartButton({ row }: { row: ExtensionRow }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const restart = useRowMutation<void, void>("extensions", async () => {
    await client.post("extensions/{extensionId}/restart", { extensionId: row.id }, {});
    notify(t("plugin.restarted", { name: row.name }));
  });
  const isOff = row.disabled || row.globalDisabled || row.status?.state === "absent";
  if (isOff || !row.permissions.includes("put")) return null;
  return (
    <>
      <Button
        variant={row.status?.state === "stopped" ? "filled" : "default"}
        size="compact-md"
        loading={restart.isPending}
        aria-label={t("plugin.restart-named", { name: row.name })}
        onClick={() => restart.mutate()}
      >
        {t("plugin.restart")}
      </Button>
      <ErrorLine error={restart.error} />
    </>
  );
}

/** One plugin: state, settings, log and history. */
export function PluginSheet({ row, onClose }: { row: ExtensionRow; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <SideSheet title={row.name} onClose={onClose}>
      <div className="stack">
        <div className="row">
          <PluginState row={row} />
        </div>
        <PluginOrigin row={row} />
        <div className="row">
          <RestartButton row={row} />
          <SwitchButton row={row} />
        </div>
        <SheetTabs
          label={row.name}
          tabs={[
            { id: "settings", label: t("system.settings"), content: <PluginSettings row={row} /> },
            { id: "limits", label: t("plugin.limits"), content: <PluginLimits row={row} /> },
            { id: "files", label: t("plugin.files"), content: <PluginFiles row={row} /> },
            { id: "log", label: t("plugin.log"), content: <PluginLog extensionId={row.id} /> },
            { id: "history", label: t("plugin.history"), content: <PluginHistory row={row} /> },
          ]}
        />
      </div>
    </SideSheet>
  );
}

function usePluginChange(row: ExtensionRow) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  return useRowMutation("extensions", async (body: Record<string, unknown>) => {
    await client.put("extensions/{extensionId}", { extensionId: row.id }, body);
    notify(t("saved"));
  });
}

function SwitchButton({ row }: { row: ExtensionRow }) {
  const { t } = useTranslation();
  const change = usePluginChange(row);
  if (!row.permissions.includes("put")) return null;
  return (
    <>
      <Button
        variant="default"
        size="compact-md"
        loading={change.isPending}
        onClick={() => change.mutate({ disabled: !row.disabled })}
      >
        {row.disabled ? t("system.enable") : t("system.disable")}
      </Button>
      <ErrorLine error={change.error} />
    </>
  );
}

/** What the service heeds about a plugin, beside the plugin's own settings. */
function PluginLimits({ row }: { row: ExtensionRow }) {
  const { t, name } = useTranslation();
  const schemas = useSchemas();
  const change = usePluginChange(row);
  const schema = schemas.data?.resources.extensions?.schema;
  const codes = NOTIFICATION_ACTIVITY_TYPES.map((value) => ({ value, label: name("activity", value) }));
  const fields = formFields(schema, [
    ...(row.type === "device" ? [{ name: "deviceLimit", hint: t("plugin.device-limit-hint") }] : []),
    { name: "failureCode", hint: t("plugin.failure-code-hint"), choices: codes },
    { name: "globalDisabled", hint: t("plugin.global-disabled-hint") },
  ]);
  return (
    <>
      <ErrorLine error={schemas.error} />
      {schema && (
        <Form
          key={JSON.stringify([row.deviceLimit, row.failureCode, row.globalDisabled])}
          fields={row.permissions.includes("put") ? fields : []}
          before={{ ...row }}
          pending={change.isPending}
          error={change.error}
          onSave={change.mutate}
        />
      )}
    </>
  );
}

function PluginSettings({ row }: { row: ExtensionRow }) {
  const { t } = useTranslation();
  const schemas = useSchemas();
  const change = usePluginChange(row);
  const fields = fieldsOf(schemas.data?.extensions[row.id] ?? {});
  if (schemas.data && fields.length === 0) return <p className="soft">{t("plugin.no-settings")}</p>;
  return (
    <>
      <ErrorLine error={schemas.error} />
      {schemas.data && (
        <Form
          key={JSON.stringify(row.config)}
          fields={fields}
          before={row.config}
          pending={change.isPending}
          error={change.error}
          onSave={(config) => change.mutate({ config: { ...row.config, ...config } })}
        />
      )}
    </>
  );
}
