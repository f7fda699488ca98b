import { Button } from "@mantine/core";
import type { FileSetting, SettingsAnswer } from "../../api/rows.ts";
import { useAppliance, useRow, useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import type { FormField, FormValues } from "../../ui/form/form-fields.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { CertificateCard } from "./certificate-card.tsx";
import "../../ui/lines.css";
import "./settings.css";
import { PageTitle } from "../../ui/page-title.tsx";

const ENDPOINT = "extensions/{extensionId}/endpoints/{endpointId}";
/** What of the appliance is changed here; all but the name lies in its config. */
const IN_CONFIG = ["description", "timeZone", "backupSchedule"] as const;

/** Settings of the appliance: editable ones and those of the settings file. */
export default function SettingsPage() {
  const { t } = useTranslation();
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("settings.title")}</PageTitle>
      <OwnSettings />
      <CertificateCard />
      <FileSettings />
    </div>
  );
}

function OwnSettings() {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const appliance = useAppliance();
  const saving = useRowMutation<Record<string, unknown>, void>("endpoints", async (changed) => {
    if (!appliance) return;
    const { id: endpointId, extensionId } = appliance;
    const { name, ...inConfig } = changed;
    const config = { ...(appliance.config as object | null), ...inConfig };
    const body = { ...(name === undefined ? {} : { name }), config };
    await client.put(ENDPOINT, { extensionId, endpointId }, body);
    notify(t("saved"));
  });
  if (!appliance) return null;
  const { clock } = appliance;
  const config = (appliance.config ?? {}) as Record<string, unknown>;
  const before: FormValues = {
    name: appliance.name,
    ...Object.fromEntries(IN_CONFIG.map((name) => [name, config[name] ?? ""])),
  };
  const fields: FormField[] = [
    { name: "name", kind: "text", label: t("settings.name") },
    { name: "description", kind: "text" },
    { name: "timeZone", kind: "text", hint: t("settings.zone-hint") },
    { name: "backupSchedule", kind: "text", label: t("settings.backups"), hint: t("settings.backups-hint") },
  ];
  return (
    <section className="card">
      <h2>{t("settings.own")}</h2>
      <Form
        key={appliance.updatedAt}
        fields={fields}
        before={before}
        pending={saving.isPending}
        error={saving.error}
        onSave={(changed) => saving.mutate(changed)}
      />
      {clock?.timeZoneSource && (
        <p className="soft">
          {t("settings.zone-data", {
            version: clock.timeZoneVersion ?? t("zone-source.unknown"),
            source: t(`zone-source.${clock.timeZoneSource}`),
          })}
        </p>
      )}
    </section>
  );
}

function FileSettings() {
  const { t, say } = useTranslation();
  const found = useRow<SettingsAnswer>("settings");
  if (!found.data) return <ErrorLine error={found.error} />;
  const { file, fault, faultSentence, settings } = found.data;
  const waiting = settings.filter(({ next }) => next !== null);
  return (
    <section className="card">
      <h2>{t("settings.file")}</h2>
      <p className="soft">{file === null ? t("settings.no-file") : t("settings.from", { file })}</p>
      {fault !== null && <p role="alert">{t("settings.fault", { fault: say(fault, faultSentence) })}</p>}
      {fault === null && waiting.length > 0 && (
        <p role="status">{t("settings.waiting", { names: waiting.map(({ name }) => name).join(", ") })}</p>
      )}
      <RestartNow disabled={fault !== null} />
      <dl className="settings">
        {settings.map((line) => (
          <Line key={line.name} line={line} />
        ))}
      </dl>
    </section>
  );
}

function Line({ line: { name, doc, docSentence, value, default: usual, next } }: { line: FileSetting }) {
  const { t } = useTranslation();
  return (
    <div>
      <dt>
        <code>{name}</code>
      </dt>
      <dd>
        <code>{value}</code>{" "}
        {value !== usual && <span className="soft">{t("settings.default", { value: usual })}</span>}{" "}
        {next !== null && <Chip tone="warn">{t("settings.next", { value: next })}</Chip>}
        <p className="soft">
          <SentenceText text={doc} sentence={docSentence} />
        </p>
      </dd>
    </div>
  );
}

function RestartNow({ disabled }: { disabled: boolean }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const appliance = useAppliance();
  const order = useRowMutation<void, void>("endpoint-activities", async () => {
    const params = { extensionId: appliance?.extensionId ?? "", endpointId: appliance?.id ?? "" };
    await client.post(`${ENDPOINT}/activities`, params, { type: "restart" });
    notify(t("settings.restarting"));
  });
  return (
    <div>
      <ErrorLine error={order.error} />
      <Button
        variant="default"
        disabled={disabled || !appliance}
        loading={order.isPending}
        onClick={() => order.mutate()}
      >
        {t("settings.restart")}
      </Button>
    </div>
  );
}
