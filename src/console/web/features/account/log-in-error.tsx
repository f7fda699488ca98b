import { CallerError } from "../../../../lib/errors.ts";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";

/** Log-in error, where 401 means wrong credentials. */
export function LogInError({ error, refused }: { error: unknown; refused: MessageKey }) {
  const { t } = useTranslation();
  if (!(error instanceof CallerError && error.type === "unauthorized")) return <ErrorLine error={error} />;
  return (
    <p className="fault" role="alert">
      {t(refused)}
    </p>
  );
}
