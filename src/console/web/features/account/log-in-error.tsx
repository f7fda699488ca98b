import { CallerError } from "../../../../base/errors.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";

/** A fault at a door, where 401 means that what was typed does not open it. */
export function LogInError({ error, refused }: { error: unknown; refused: MessageKey }) {
  const { t } = useTranslation();
  if (!(error instanceof CallerError && error.type === "unauthorized")) return <ErrorLine error={error} />;
  return (
    <p className="fault" role="alert">
      {t(refused)}
    </p>
  );
}
