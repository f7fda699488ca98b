import { Link } from "@tanstack/react-router";
import { useWords } from "../i18n/use-translation.tsx";
import { FaultLine } from "../ui/error-line.tsx";

/** An address that leads nowhere. */
export function LostPage() {
  const { t } = useWords();
  return (
    <div className="page">
      <h1>{t("lost.title")}</h1>
      <Link to="/">{t("lost.home")}</Link>
    </div>
  );
}

/** A page that broke. */
export function PageFault({ error }: { error: unknown }) {
  const { t } = useWords();
  return (
    <div className="page">
      <h1>{t("fault.page")}</h1>
      <FaultLine error={error} />
      <a href={location.href}>{t("fault.again")}</a>
    </div>
  );
}
