import { CallerError } from "../../../../base/errors.ts";
import type { WordKey } from "../../i18n/en.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";

/** A fault at a door, where 401 means that what was typed does not open it. */
export function RefusalLine({ error, refused }: { error: unknown; refused: WordKey }) {
  const { t } = useWords();
  if (!(error instanceof CallerError && error.type === "unauthorized")) return <FaultLine error={error} />;
  return (
    <p className="fault" role="alert">
      {t(refused)}
    </p>
  );
}
