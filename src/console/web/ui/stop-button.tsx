import { Button } from "@mantine/core";
import { useStop } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { faultWords } from "../i18n/error-text.ts";
import { useWords } from "../i18n/use-translation.tsx";

/** Ends a broadcast with one click, without a question: what sounds must be stoppable at once. */
export function StopButton({ id, subject }: { id: string; subject: string }) {
  const words = useWords();
  const { say } = useConsole();
  const stop = useStop();
  const end = () =>
    stop.mutate(id, {
      onSuccess: () => say(words.t("stop.done", { subject })),
      onError: (error) => say(faultWords(error, words)),
    });
  return (
    <Button
      color="red"
      size="compact-md"
      loading={stop.isPending}
      onClick={end}
      aria-label={words.t("stop.label", { subject })}
    >
      {words.t("stop")}
    </Button>
  );
}
