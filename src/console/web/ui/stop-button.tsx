import { Button } from "@mantine/core";
import { useCancelNotification } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { errorText } from "../i18n/error-text.ts";
import { useTranslation } from "../i18n/use-translation.tsx";
import type { WrittenText } from "./subject-text.tsx";

/** Ends a broadcast with one click, without a question: what sounds must be stoppable at once. */
export function StopButton({ row }: { row: { id: string } & WrittenText }) {
  const translator = useTranslation();
  const subject = translator.say(row.subject ?? "", row.subjectSentence ?? null);
  const { notify } = useConsole();
  const stop = useCancelNotification();
  const end = () =>
    stop.mutate(row.id, {
      onSuccess: () => notify(translator.t("stop.done", { subject })),
      onError: (error) => notify(errorText(error, translator)),
    });
  return (
    <Button
      color="red"
      size="compact-md"
      loading={stop.isPending}
      onClick={end}
      aria-label={translator.t("stop.label", { subject })}
    >
      {translator.t("stop")}
    </Button>
  );
}
