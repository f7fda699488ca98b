import { Button } from "@mantine/core";
import { useSaid } from "../api/readings.ts";
import { faultWords, isLacking } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";

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
