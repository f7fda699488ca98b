import { Button, PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { SecondFactorRow, SessionRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { PasskeyButton } from "./passkey-button.tsx";
import "@mantine/core/styles/PasswordInput.css";

/** Asks the user of an open session to confirm to be there, before a change of whom the appliance trusts. */
export default function ConfirmIdentityDialog({
  session,
  onAnswer,
}: {
  session: SessionRow;
  onAnswer(isConfirmed: boolean): void;
}) {
  const translator = useTranslation();
  const { t } = translator;
  const { client } = useConsole();
  const { userId } = session;
  const rows = useRows<SecondFactorRow>("users/{userId}/second-factors", { userId }).data?.data ?? [];
  const [currentPassword, setCurrentPassword] = useState("");
  const confirm = useMutation({
    mutationFn: () => client.post("session/confirmation", {}, { currentPassword }),
    onSuccess: () => onAnswer(true),
  });
  const wrong = fieldErrorText(confirm.error, "currentPassword", translator);
  return (
    <Dialog title={t("confirm-identity.title")} onClose={() => onAnswer(false)}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          confirm.mutate();
        }}
      >
        <p>{t("confirm-identity.intro")}</p>
        {rows.some(({ kind }) => kind === "passkey") && (
          <PasskeyButton
            options={() => client.post("session/passkey-options", {}, {})}
            submit={async (passkey) => void (await client.post("session/confirmation", {}, { passkey }))}
            onDone={() => onAnswer(true)}
          />
        )}
        <PasswordInput
          label={t("second-factor.password")}
          description={t("confirm-identity.provider")}
          autoComplete="current-password"
          required
          data-autofocus
          maxLength={1_024}
          visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
          value={currentPassword}
          error={wrong && t("second-factor.wrong-password")}
          onChange={(event) => setCurrentPassword(event.currentTarget.value)}
        />
        {wrong === null && <ErrorLine error={confirm.error} />}
        <div className="row">
          <Button type="submit" loading={confirm.isPending}>
            {t("second-factor.confirm")}
          </Button>
          <Button variant="default" onClick={() => onAnswer(false)}>
            {t("cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
