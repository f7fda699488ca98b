import { useQuery } from "@tanstack/react-query";
import type { Branding, SetupState } from "../../api/client.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { brandedColors } from "./branding-colors.ts";

/** Branding of the organisation as read when the console started; undefined until then. */
function useBranding(): Branding | undefined {
  return useQuery<SetupState>({ queryKey: ["setup"], enabled: false }).data?.branding;
}

/** The organisation's colours in the light look. */
export function BrandingColors({ branding }: { branding: Branding }) {
  const rules = Object.entries(brandedColors(branding)).map(([name, value]) => `${name}:${value}`);
  if (rules.length === 0) return null;
  // The kit writes its own into the same place, later.
  return <style>{`:root:root[data-mantine-color-scheme="light"]{${rules.join(";")}}`}</style>;
}

/** Name or logo of the organisation, above the navigation. */
export function Brand() {
  const { t } = useTranslation();
  const branding = useBranding();
  if (!branding?.logoUrl) return <span className="brand">{t("brand")}</span>;
  return <img className="brand brand-logo" src={branding.logoUrl} alt={branding.logoAltText} />;
}

/** Logo and name on the log-in page. */
export function LogInHeader() {
  const { t } = useTranslation();
  const branding = useBranding();
  return (
    <>
      {branding?.logoUrl && <img className="door-logo" src={branding.logoUrl} alt={branding.logoAltText} />}
      <h1>{branding?.companyName ?? t("brand")}</h1>
    </>
  );
}

/** Contact for people who cannot log in. */
export function SupportContact() {
  const { t } = useTranslation();
  const branding = useBranding();
  if (!branding) return null;
  const { customUrl, companyEmail, companyPhone } = branding;
  if (!customUrl && !companyEmail && !companyPhone) return null;
  return (
    <p className="row soft">
      {customUrl && (
        <a href={customUrl} rel="noreferrer" target="_blank">
          {t("log-in.help")}
        </a>
      )}
      {companyEmail && <a href={`mailto:${companyEmail}`}>{companyEmail}</a>}
      {companyPhone && <a href={`tel:${companyPhone}`}>{companyPhone}</a>}
    </p>
  );
}
