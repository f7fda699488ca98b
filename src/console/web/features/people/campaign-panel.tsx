import type { Campaign } from "../../api/identity-rows.ts";
import type { DistributionListRow } from "../../api/rows.ts";
import { useRow, useRowMutation, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { CopyField } from "../../ui/copy-field.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import { type FormValues, formFields } from "../../ui/form/form-fields.ts";

/** Self-enrolment of a list: texts, dates and link. */
export function CampaignPanel({ distributionListId }: { distributionListId: string }) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const schemas = useSchemas();
  const row = useRow<DistributionListRow & { campaign: Campaign | null }>("distribution-lists/{distributionListId}", {
    distributionListId,
  });
  const change = useRowMutation("distribution-lists", async (campaign: object | null) => {
    await client.put("distribution-lists/{distributionListId}", { distributionListId }, { campaign });
    if (campaign) notify(t("saved"));
    else notify(t("removed"), () => change.mutate(values));
  });
  if (row.data?.id !== distributionListId) return <ErrorLine error={row.error} />;
  const { campaign, permissions } = row.data;
  const { url, ...values } = campaign ?? { url: null };
  const schema = schemas.data?.resources["distribution-lists"]?.schema.properties?.campaign;
  const fields = formFields(schema, [
    { name: "welcomeMessage", hint: t("campaign.welcome-hint") },
    { name: "defaultNotificationDays", hint: t("campaign.days-hint") },
    { name: "enrollmentEndDate", hint: t("campaign.end-hint") },
    { name: "inactiveMessage", hint: t("campaign.inactive-hint") },
    { name: "subscribeTag", hint: t("campaign.tag-hint") },
  ]);
  return (
    <div className="stack">
      <p className="soft">{t("campaign.intro")}</p>
      {url && <CopyField label={t("campaign.url")} value={url} />}
      <ErrorLine error={schemas.error} />
      {schemas.data && permissions.includes("put") && (
        <Form
          key={JSON.stringify(campaign)}
          fields={fields}
          before={values as FormValues}
          pending={change.isPending}
          error={change.error}
          onSave={(changed) => change.mutate({ ...values, ...changed })}
          onRemove={campaign ? () => change.mutate(null) : undefined}
        />
      )}
    </div>
  );
}
