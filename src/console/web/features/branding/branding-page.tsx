import { useQueryClient } from "@tanstack/react-query";
import { type CSSProperties, useState } from "react";
import type { BrandingRow } from "../../api/place-rows.ts";
import { useRowMutation, useRows, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Form } from "../../ui/form/form.tsx";
import { bodyWith, type FormValues, formFields } from "../../ui/form/form-fields.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { useImage, useObjectUrl } from "../../ui/use-image.ts";
import { brandedColors, isReadableColor } from "./branding-colors.ts";
import "./branding.css";
import { PageTitle } from "../../ui/page-title.tsx";

const NO_VALUES: FormValues = {};
const LOGO_KINDS = ["image/png", "image/jpeg"];

/** How log-in and console show the organisation, with a look at it before it is saved. */
export default function BrandingPage() {
  const { t } = useTranslation();
  const brandings = useRows<BrandingRow>("brandings", {}, { limit: 1, sort: "-updatedAt" });
  const schemas = useSchemas();
  const [values, setValues] = useState<FormValues>(NO_VALUES);
  const row = brandings.data?.data[0];
  const save = useSaving(row);
  return (
    <div className="page">
      <SectionTabs of="system" />
      <PageTitle>{t("branding.title")}</PageTitle>
      <p className="soft">{t("branding.intro")}</p>
      <ErrorLine error={brandings.error ?? schemas.error} />
      {brandings.data && schemas.data && (
        <div className="split">
          <section className="card">
            <Form
              key={row?.updatedAt ?? ""}
              fields={formFields(schemas.data.resources.brandings?.schema, [
                { name: "companyName" },
                { name: "logo", kind: "file", accept: LOGO_KINDS, hint: t("branding.logo-hint") },
                { name: "logoAltText" },
                { name: "primaryColor", kind: "color", hint: t("branding.color-hint") },
                { name: "secondaryColor", kind: "color", hint: t("branding.second-hint") },
                { name: "customUrl", hint: t("branding.url-hint") },
                { name: "companyEmail" },
                { name: "companyPhone" },
              ])}
              before={row ?? NO_VALUES}
              pending={save.isPending}
              error={save.error}
              onSave={(changed) => save.mutate(changed)}
              onValues={setValues}
            />
          </section>
          <Preview row={row} values={values} />
        </div>
      )}
    </div>
  );
}

function useSaving(row: BrandingRow | undefined) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const queries = useQueryClient();
  return useRowMutation("brandings", async (changed: Record<string, unknown>) => {
    if (row) await client.put("brandings/{brandingId}", { brandingId: row.id }, bodyWith(changed));
    else await client.post("brandings", {}, bodyWith(changed));
    // The console itself wears it.
    await queries.fetchQuery({ queryKey: ["setup"], queryFn: () => client.setup(), staleTime: 0 });
    notify(t("saved"));
  });
}

function Preview({ row, values }: { row: BrandingRow | undefined; values: FormValues }) {
  const { t } = useTranslation();
  const file = row?.logoFiles[0];
  const stored = useImage("brandings/{brandingId}/logo", { brandingId: row?.id ?? "" }, file ? row.updatedAt : null);
  const chosen = useObjectUrl(values.logo instanceof File ? values.logo : null);
  const logo = chosen ?? (Number(values.logo ?? 0) > 0 ? stored.url : null);
  const text = (name: string) => (typeof values[name] === "string" ? (values[name] as string) : "");
  const primaryColor = text("primaryColor");
  const colors = brandedColors({ primaryColor, secondaryColor: text("secondaryColor") });
  return (
    <section className="stack" aria-label={t("branding.preview")}>
      <h2>{t("branding.preview")}</h2>
      <div className="look-preview" style={colors as CSSProperties}>
        <div className="look-card">
          {logo && <img className="door-logo" src={logo} alt={text("logoAltText")} />}
          <strong>{text("companyName") || t("brand")}</strong>
          <span className="look-button">{t("log-in")}</span>
          {text("customUrl") && <span className="look-link">{t("log-in.help")}</span>}
          {text("companyEmail") && <span className="look-link">{text("companyEmail")}</span>}
          {text("companyPhone") && <span className="look-link">{text("companyPhone")}</span>}
        </div>
        <div className="row">
          <span className="look-button">{t("branding.sample-button")}</span>
          <span className="look-chosen">{t("branding.sample-chosen")}</span>
        </div>
      </div>
      {/^#[0-9a-f]{6}$/i.test(primaryColor) && !isReadableColor(primaryColor) && (
        <p className="fault" role="status">
          {t("branding.unreadable")}
        </p>
      )}
      <ErrorLine error={stored.error} />
    </section>
  );
}
