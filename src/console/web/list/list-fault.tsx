import { Button } from "@mantine/core";
import { CallerError } from "../../../base/errors.ts";
import { FaultLine } from "../parts/fault-line.tsx";
import { useWords } from "../words/use-words.tsx";

/** Why a list can't be shown, and what to do: whoever lacks the right is not asked to try again. */
export function ListFault({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  const { t } = useWords();
  if (error instanceof CallerError && error.type === "forbidden") {
    return (
      <section className="card">
        <h2>{t("table.forbidden")}</h2>
        <p>{t("table.forbidden-words")}</p>
      </section>
    );
  }
  return (
    <div className="stack">
      <FaultLine error={error} />
      <div>
        <Button variant="default" onClick={onRetry}>
          {t("table.again")}
        </Button>
      </div>
    </div>
  );
}
