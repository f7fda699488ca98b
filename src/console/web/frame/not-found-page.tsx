import { Link } from "@tanstack/react-router";
import { useTranslation } from "../i18n/use-translation.tsx";
import { ErrorLine } from "../ui/error-line.tsx";

/** An address that leads nowhere. */
export function NotFoundPage() {
  const { t } = useTranslation();
  return (
    <div className="page">
      <h1>{t("not-found.title")}</h1>
      <Link to="/">{t("not-found.home")}</Link>
    </div>
  );
}

/** A page that broke. */
export function PageError({ error }: { error: unknown }) {
  const { t } = useTranslation();
  return (
    <div className="page">
      <h1>{t("error.page")}</h1>
      <ErrorLine error={error} />
      <a href={location.href}>{t("error.again")}</a>
    </div>
  );
}
