import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import { useChange } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldFault } from "../../i18n/error-text.ts";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import type { OwnField } from "../../ui/form/form-fields.ts";
import "../../ui/input-styles.ts";

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
        <PasswordField
          label={t("person.new-password")}
          hint={t("person.password-hint")}
          value={password}
          error={fieldFault(set.error, "password", words)}
          onChange={setPassword}
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

/** The password that a new account begins with; none is given to it by an empty field. */
export function FirstPassword({ values, change, error }: OwnField) {
  const words = useWords();
  return (
    <PasswordField
      label={words.t("person.first-password")}
      hint={words.t("person.first-password-hint")}
      value={String(values.password ?? "")}
      error={fieldFault(error, "password", words)}
      onChange={(password) => change({ password: password === "" ? undefined : password })}
    />
  );
}

/** What the API takes, so that no account is made whose password it refuses then. */
const LEAST = 8;
const MOST = 1_024;

interface PasswordFieldProps {
  label: string;
  hint: string;
  value: string;
  error: string | null;
  onChange(value: string): void;
}

function PasswordField({ label, hint, value, error, onChange }: PasswordFieldProps) {
  const { t } = useWords();
  return (
    <PasswordInput
      {...{ label, value, error }}
      description={hint}
      minLength={LEAST}
      maxLength={MOST}
      autoComplete="new-password"
      visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
