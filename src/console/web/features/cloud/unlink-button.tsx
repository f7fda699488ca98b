import { useChange } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { SureButton } from "../../ui/confirm-button.tsx";

/** Makes the appliance stand alone again. */
export function LeaveButton() {
  const { t } = useWords();
  const { client, say } = useConsole();
  const leaving = useChange<void, void>("link", async () => {
    await client.remove("link");
    say(t("cloud.left"));
  });
  return (
    <SureButton
      word={t("cloud.leave")}
      words={t("cloud.leave-words")}
      pending={leaving.isPending}
      error={leaving.error}
      onSure={() => leaving.mutate()}
    />
  );
}
