import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import { useChange } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { fieldFault } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";
import "../parts/input-styles.ts";

/** Gives somebody a password; whoever is logged in with the account is logged out. */
export function PersonPassword({ userId }: { userId: string }) {
  const words = useWords();
  const { t } = words;
  const { client, say } = useConsole();
  const [password, setPassword] = useState("");
  const set = useChange<void, void>("users", async () => {
    await client.put("users/{userId}/password", { userId }, { password });
    setPassword("");
    say(t("person.password-set"));
  });
  return (
    <details>
      <summary>{t("person.set-password")}</summary>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          set.mutate();
        }}
      >
        <PasswordInput
          label={t("person.new-password")}
          description={t("person.password-hint")}
          autoComplete="new-password"
          value={password}
          error={fieldFault(set.error, "password", words)}
          visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <FaultLine error={set.error} />
        <div>
          <Button type="submit" disabled={password === ""} loading={set.isPending}>
            {t("person.set-password")}
          </Button>
        </div>
      </form>
    </details>
  );
}
