import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { CallerError } from "../../../../lib/errors.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { PasskeyButton } from "./passkey-button.tsx";

/** Second step of a log-in: a passkey, a code of the authenticator app, or a recovery code. */
export function SecondFactorStep({ kinds, onRestart }: { kinds: readonly string[]; onRestart: () => void }) {
  const { t } = useTranslation();
  const { client, refreshSession } = useConsole();
  const [code, setCode] = useState("");
  const complete = useMutation({ mutationFn: () => client.completeLogIn({ code }), onSuccess: refreshSession });
  const { error } = complete;
  const hasExpired = error instanceof CallerError && error.type === "unauthorized";
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        complete.mutate();
      }}
    >
      <h1>{t("second-factor.log-in")}</h1>
      {kinds.includes("passkey") && (
        <PasskeyButton
          options={() => client.passkeyOptions("password")}
          submit={(passkey) => client.completeLogIn({ passkey })}
          onDone={refreshSession}
        />
      )}
      <CodeInput
        value={code}
        error={error}
        onChange={setCode}
        hint={t(kinds.includes("totp") ? "second-factor.any-code" : "second-factor.recovery-code")}
      />
      {hasExpired ? (
        <p className="fault" role="alert">
          {t("second-factor.expired")}
        </p>
      ) : (
        !isWrongCode(error) && <ErrorLine error={error} />
      )}
      {!hasExpired && (
        <Button type="submit" loading={complete.isPending}>
          {t("log-in")}
        </Button>
      )}
      <Button variant="default" onClick={onRestart}>
        {t("second-factor.back")}
      </Button>
    </form>
  );
}

interface CodeInputProps {
  value: string;
  hint: string;
  error: unknown;
  onChange(code: string): void;
}

/** Field for a code, which names a wrong one. */
export function CodeInput({ value, hint, error, onChange }: CodeInputProps) {
  const { t } = useTranslation();
  return (
    <TextInput
      label={t("second-factor.code")}
      description={hint}
      error={isWrongCode(error) ? t("second-factor.wrong-code") : null}
      autoComplete="one-time-code"
      spellCheck={false}
      maxLength={64}
      required
      data-autofocus
      // The field appears because of what was just entered.
      autoFocus
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Whether the API refused the code itself. */
export function isWrongCode(error: unknown): boolean {
  return error instanceof CallerError && error.faults.some(({ field }) => field === "code");
}
