import { Link } from "@tanstack/react-router";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "../ui/error-line.tsx";

/** An address that leads nowhere. */
export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <div className="page">
      <h1>{t("lost.title")}</h1>
      <Link to="/">{t("lost.home")}</Link>
    </div>
  );
}

/** A page that broke. */
export function PageError({ error }: { error: unknown }) {
  const { t } = useTranslation();
  return (
    <div className="page">
      <h1>{t("fault.page")}</h1>
      <ErrorLine error={error} />
      <a href={location.href}>{t("fault.again")}</a>
    </div>
  );
}
