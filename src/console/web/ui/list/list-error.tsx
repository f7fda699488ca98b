import { isLacking } from "../../i18n/error-text.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../error-line.tsx";

/** Why a list can't be shown, and what to do. */
export function ListFault({ error }: { error: unknown }) {
  const { t } = useWords();
  if (!isLacking(error)) return <FaultLine error={error} />;
  return (
    <section className="card">
      <h2>{t("table.forbidden")}</h2>
      <FaultLine error={error} />
    </section>
  );
}
