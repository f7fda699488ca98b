import { Button } from "@mantine/core";
import { useReportedError } from "../api/page-queries.ts";
import { errorText, isForbidden } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/**
 * What went wrong, in words, told to screen readers at once; nothing when nothing did. What could not be read can be tried
 * again, unless for want of a right.
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
