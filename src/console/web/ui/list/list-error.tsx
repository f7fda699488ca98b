import { isForbidden } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../error-line.tsx";

/** Why a list can't be shown, and what to do. */
export function ListError({ error }: { error: unknown }) {
  const { t } = useTranslation();
  if (!isForbidden(error)) return <ErrorLine error={error} />;
  return (
    <section className="card">
      <h2>{t("table.forbidden")}</h2>
      <ErrorLine error={error} />
    </section>
  );
}
