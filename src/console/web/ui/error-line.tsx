import { Button } from "@mantine/core";
import { useReportedError } from "../api/page-queries.ts";
import { errorText, isForbidden } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/**
 * Error text as a live region; nothing without an error. A failed query can be retried, unless a permission is
 * missing.
 */
export function ErrorLine({ error }: { error: unknown }) {
  const translator = useTranslation();
  const again = useReportedError(error);
  if (!error) return null;
  return <ErrorText again={isForbidden(error) ? null : again}>{errorText(error, translator)}</ErrorText>;
}

/** The line itself. */
export function ErrorText({ children, again }: { children: string; again: (() => void) | null }) {
  const { t } = useTranslation();
  return (
    <p className="fault" role="alert">
      {children}
      {again && (
        <Button variant="default" size="compact-sm" ml="sm" onClick={again}>
          {t("error.retry")}
        </Button>
      )}
    </p>
  );
}
