import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ConfirmButton } from "../../ui/confirm-button.tsx";

/** Unlinks the appliance from its cloud. */
export function UnlinkButton() {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const leaving = useRowMutation<void, void>("link", async () => {
    await client.remove("link");
    notify(t("cloud.left"));
  });
  return (
    <ConfirmButton
      word={t("cloud.leave")}
      words={t("cloud.leave-text")}
      pending={leaving.isPending}
      error={leaving.error}
      onSure={() => leaving.mutate()}
    />
  );
}
