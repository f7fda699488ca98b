import { Button, Checkbox, PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { SessionRow } from "../../api/rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { usePasswordLength } from "../../ui/use-password-length.ts";
import "../../ui/input-styles.ts";

const EMPTY = { currentPassword: "", password: "" };

/** Changes the password of the current user; this session goes on, all others end. */
export function OwnPassword({ session }: { session: SessionRow }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const { min, max } = usePasswordLength();
  const [given, setGiven] = useState(EMPTY);
  const [revokeTokens, setRevokeTokens] = useState(false);
  const change = useMutation({
    mutationFn: () => client.put("users/{userId}/password", { userId: session.userId }, { ...given, revokeTokens }),
    onSuccess: () => {
      setGiven(EMPTY);
      notify(t("user.password-changed"));
    },
  });
  const bind = (name: keyof typeof EMPTY) => ({
    required: true,
    value: given[name],
    error: fieldErrorText(change.error, name, translator),
    visibilityToggleButtonProps: { "aria-label": t("form.reveal") },
    onChange: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget;
      setGiven((old) => ({ ...old, [name]: value }));
    },
  });
  return (
    <details>
      <summary>{t("user.password-change")}</summary>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <PasswordInput
          {...bind("currentPassword")}
          label={t("field.currentPassword")}
          autoComplete="current-password"
        />
        <PasswordInput
          {...bind("password")}
          label={t("field.newPassword")}
          description={t("password.rules", { min })}
          minLength={min}
          maxLength={max}
          autoComplete="new-password"
        />
        <Checkbox
          label={t("user.password-tokens")}
          checked={revokeTokens}
          onChange={(event) => setRevokeTokens(event.currentTarget.checked)}
        />
        <ErrorLine error={change.error} />
        <div>
          <Button type="submit" loading={change.isPending}>
            {t("user.password-change")}
          </Button>
        </div>
      </form>
    </details>
  );
}
