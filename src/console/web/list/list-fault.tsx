import { FaultLine } from "../parts/fault-line.tsx";
import { isLacking } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";

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
