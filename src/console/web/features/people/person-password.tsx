import { Button, Checkbox, PasswordInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { SetupState } from "../../api/client.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import type { CustomFieldProps } from "../../ui/form/form-fields.ts";
import { usePasswordLength } from "../../ui/use-password-length.ts";
import "../../ui/input-styles.ts";

/** Sets a password; sessions of the account end. */
export function PersonPassword({ userId }: { userId: string }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [password, setPassword] = useState("");
  const [revokeTokens, setRevokeTokens] = useState(false);
  const set = useRowMutation<void, void>("users", async () => {
    await client.put("users/{userId}/password", { userId }, { password, revokeTokens });
    setPassword("");
    notify(t("person.password-set"));
  });
  const canMail = useQuery<SetupState>({ queryKey: ["setup"], enabled: false }).data?.mailsPasswordLinks ?? false;
  const mail = useMutation({
    mutationFn: () => client.post<void>("users/{userId}/password-link", { userId }, {}),
    onSuccess: () => notify(t("person.link-mailed")),
  });
  return (
    <details>
      <summary>{t("person.set-password")}</summary>
      {canMail && (
        <div className="stack">
          <p className="soft">{t("person.link-hint")}</p>
          <ErrorLine error={mail.error} />
          <div>
            <Button variant="default" loading={mail.isPending} onClick={() => mail.mutate()}>
              {t("person.mail-link")}
            </Button>
          </div>
        </div>
      )}
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
          error={fieldErrorText(set.error, "password", translator)}
          onChange={setPassword}
        />
        <Checkbox
          label={t("person.password-tokens")}
          checked={revokeTokens}
          onChange={(event) => setRevokeTokens(event.currentTarget.checked)}
        />
        <ErrorLine error={set.error} />
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
export function FirstPassword({ values, change, error }: CustomFieldProps) {
  const translator = useTranslation();
  return (
    <PasswordField
      label={translator.t("person.first-password")}
      hint={translator.t("person.first-password-hint")}
      value={String(values.password ?? "")}
      error={fieldErrorText(error, "password", translator)}
      onChange={(password) => change({ password: password === "" ? undefined : password })}
    />
  );
}

interface PasswordFieldProps {
  label: string;
  hint: string;
  value: string;
  error: string | null;
  onChange(value: string): void;
}

function PasswordField({ label, hint, value, error, onChange }: PasswordFieldProps) {
  const { t } = useTranslation();
  const { min, max } = usePasswordLength();
  return (
    <PasswordInput
      {...{ label, value, error }}
      description={`${t("password.rules", { min })} ${hint}`.trim()}
      minLength={min}
      maxLength={max}
      autoComplete="new-password"
      visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
