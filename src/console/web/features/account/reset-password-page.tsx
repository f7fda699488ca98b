import { Button, PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { usePasswordLength } from "../../ui/use-password-length.ts";
import { LogInHeader } from "../branding/branding.tsx";
import { LogInError } from "./log-in-error.tsx";
import "@mantine/core/styles/PasswordInput.css";

/** Sets a new password with a mailed link, whose token is the fragment of the address. */
export default function ResetPasswordPage() {
  const translator = useTranslation();
  const { t } = translator;
  const { client } = useConsole();
  const { min, max } = usePasswordLength();
  const [password, setPassword] = useState("");
  const reset = useMutation({ mutationFn: () => client.resetPassword(location.hash.slice(1), password) });
  const logIn = () => location.replace("/");
  return (
    <main className="alone">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          reset.mutate();
        }}
      >
        <LogInHeader />
        <h2>{t("password-reset.title")}</h2>
        {reset.isSuccess ? (
          <p role="status">{t("password-reset.done")}</p>
        ) : (
          <>
            <PasswordInput
              label={t("field.newPassword")}
              description={t("password.rules", { min })}
              error={fieldErrorText(reset.error, "password", translator)}
              minLength={min}
              maxLength={max}
              autoComplete="new-password"
              required
              data-autofocus
              visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <LogInError error={reset.error} refused="password-reset.expired" />
            <Button type="submit" loading={reset.isPending}>
              {t("password-reset.save")}
            </Button>
          </>
        )}
        <Button variant="default" onClick={logIn}>
          {t("password-reset.back")}
        </Button>
      </form>
    </main>
  );
}
