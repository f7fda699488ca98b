import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { CallerError } from "../../../base/errors.ts";
import { DoorSign, WhomToAsk } from "../branding.tsx";
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
  const [newPassword, setNewPassword] = useState("");
  const [mustRenew, setMustRenew] = useState(false);
  const logIn = useMutation({
    mutationFn: () => client.logIn(email, password, mustRenew ? newPassword : undefined),
    onSuccess: refreshSession,
    onError: (error) => {
      if (error instanceof CallerError && error.faults[0]?.field === "newPassword") setMustRenew(true);
    },
  });
  return (
    <main className="alone">
      <form
        className="card"
        onSubmit={(event) => {
          event.preventDefault();
          logIn.mutate();
        }}
      >
        <DoorSign />
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
        {mustRenew ? (
          <PasswordInput
            label={t("field.newPassword")}
            description={t("log-in.renew")}
            autoComplete="new-password"
            required
            visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
            value={newPassword}
            onChange={(event) => setNewPassword(event.currentTarget.value)}
          />
        ) : null}
        <RefusalLine error={logIn.error} refused="log-in.refused" />
        <Button type="submit" loading={logIn.isPending}>
          {t("log-in")}
        </Button>
        <WhomToAsk />
      </form>
    </main>
  );
}
