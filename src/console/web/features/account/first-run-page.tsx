import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { usePasswordLength } from "../../ui/use-password-length.ts";
import { LogInError } from "./log-in-error.tsx";
import "@mantine/core/styles/PasswordInput.css";

/** First run: creates the first administrator with the set-up code. */
export default function FirstRunPage() {
  const translator = useTranslation();
  const { t } = translator;
  const { client, refreshSession } = useConsole();
  const { min } = usePasswordLength();
  const [admin, setAdmin] = useState({ code: "", name: "", email: "", password: "" });
  const setUp = useMutation({
    mutationFn: () => client.setUp(admin),
    onSuccess: () => {
      history.replaceState(null, "", "/welcome");
      refreshSession();
    },
  });
  const bind = (name: keyof typeof admin) => ({
    label: t(`field.${name}`),
    required: true,
    value: admin[name],
    error: fieldErrorText(setUp.error, name, translator),
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setAdmin((old) => ({ ...old, [name]: value }));
    },
  });
  return (
    <main className="alone">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          setUp.mutate();
        }}
      >
        <h1>{t("set-up.title")}</h1>
        <p>{t("set-up.intro")}</p>
        <TextInput {...bind("code")} description={t("set-up.code-hint")} autoComplete="off" />
        <TextInput {...bind("name")} autoComplete="name" />
        <TextInput {...bind("email")} type="email" autoComplete="username" />
        <PasswordInput
          {...bind("password")}
          description={t("password.rules", { min })}
          autoComplete="new-password"
          visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
        />
        <LogInError error={setUp.error} refused="set-up.refused" />
        <Button type="submit" loading={setUp.isPending}>
          {t("set-up.go")}
        </Button>
      </form>
    </main>
  );
}
