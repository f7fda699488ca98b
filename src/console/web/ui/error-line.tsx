import { Button } from "@mantine/core";
import { useSaid } from "../api/page-queries.ts";
import { faultWords, isLacking } from "../i18n/error-text.ts";
import { useWords } from "../i18n/use-translation.tsx";

/**
 * What went wrong, in words, told to screen readers at once; nothing when nothing did. What could not be read can be tried
 * again, unless for want of a right.
 */
export function FaultLine({ error }: { error: unknown }) {
  const words = useWords();
  const again = useSaid(error);
  if (!error) return null;
  return <FaultText again={isLacking(error) ? null : again}>{faultWords(error, words)}</FaultText>;
}

/** The line itself. */
export function FaultText({ children, again }: { children: string; again: (() => void) | null }) {
  const { t } = useWords();
  return (
    <p className="fault" role="alert">
      {children}
      {again && (
        <Button variant="default" size="compact-sm" ml="sm" onClick={again}>
          {t("fault.retry")}
        </Button>
      )}
    </p>
  );
}
