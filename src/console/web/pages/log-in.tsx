import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useConsole } from "../console-context.tsx";
import { RefusalLine } from "../parts/refusal-line.tsx";
import { useWords } from "../words/use-words.tsx";
import "@mantine/core/styles/PasswordInput.css";

/** Who are you? */
export default function LogInPage() {
  const { t } = useWords();
  const { client, refreshSession } = useConsole();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const logIn = useMutation({ mutationFn: () => client.logIn(email, password), onSuccess: refreshSession });
  return (
    <main className="alone">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          logIn.mutate();
        }}
      >
        <h1>{t("brand")}</h1>
        <TextInput
          label={t("field.email")}
          type="email"
          autoComplete="username"
          required
          data-autofocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <PasswordInput
          label={t("field.password")}
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <RefusalLine error={logIn.error} refused="log-in.refused" />
        <Button type="submit" loading={logIn.isPending}>
          {t("log-in")}
        </Button>
      </form>
    </main>
  );
}
