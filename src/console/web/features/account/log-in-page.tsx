import { Anchor, Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { CallerError } from "../../../../lib/errors.ts";
import type { SetupState } from "../../api/client.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { usePasswordLength } from "../../ui/use-password-length.ts";
import { LogInHeader, SupportContact } from "../branding/branding.tsx";
import { ForgottenPassword } from "./forgotten-password.tsx";
import { LogInError } from "./log-in-error.tsx";
import { PasskeyButton } from "./passkey-button.tsx";
import { SecondFactorStep } from "./second-factor-step.tsx";
import "@mantine/core/styles/PasswordInput.css";

/** Log-in page. */
export default function LogInPage() {
  return (
    <main className="alone">
      <LogInForm head={<LogInHeader />} />
    </main>
  );
}

interface LogInFormProps {
  head: ReactNode;
  /** Name or address that the form begins with. */
  login?: string;
  /** Identity providers open in a window of their own, so that this page stays. */
  keepsPage?: boolean;
}

/** Log-in by password, passkey or identity provider, with the second factor where one is needed. */
export function LogInForm({ head, login = "", keepsPage = false }: LogInFormProps) {
  const { t } = useTranslation();
  const { client, refreshSession } = useConsole();
  const [email, setEmail] = useState(login);
  const [password, setPassword] = useState("");
  const [newPassword, setNewPassword] = useState("");
  const [mustRenew, setMustRenew] = useState(false);
  const [factors, setFactors] = useState<readonly string[] | null>(null);
  const [hasForgotten, setForgotten] = useState(false);
  const ways = useQuery<SetupState>({ queryKey: ["setup"], enabled: false }).data;
  const { min } = usePasswordLength();
  const doors = ways?.doors ?? [];
  const isEmail = !ways?.takesLoginNames;
  const logIn = useMutation({
    mutationFn: () => client.logIn(email, password, mustRenew ? newPassword : undefined),
    onSuccess: (kinds) => (kinds ? setFactors(kinds) : refreshSession()),
    onError: (error) => {
      if (error instanceof CallerError && error.faults[0]?.field === "newPassword") setMustRenew(true);
    },
  });
  if (factors) return <SecondFactorStep kinds={factors} onRestart={() => setFactors(null)} />;
  if (hasForgotten) return <ForgottenPassword email={isEmail ? email : ""} onBack={() => setForgotten(false)} />;
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        logIn.mutate();
      }}
    >
      {head}
      {doors.map(({ id, name }) => (
        <Button
          key={id}
          component="a"
          variant="default"
          href={client.doorTo(id, keepsPage ? "/" : currentPath())}
          {...(keepsPage ? { target: "_blank", rel: "noopener" } : {})}
        >
          {t("log-in.by", { name })}
        </Button>
      ))}
      {ways?.takesPasswords === false && <p className="soft">{t("log-in.break-glass")}</p>}
      {ways?.takesPasswords && doors.length > 0 && <p className="soft">{t("log-in.or")}</p>}
      <TextInput
        label={t(isEmail ? "field.email" : "log-in.login")}
        type={isEmail ? "email" : "text"}
        autoComplete="username"
        required
        data-autofocus={login === "" || undefined}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <PasswordInput
        label={t("field.password")}
        autoComplete="current-password"
        required
        data-autofocus={login !== "" || undefined}
        visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {mustRenew ? (
        <PasswordInput
          label={t("field.newPassword")}
          description={`${t("log-in.renew")} ${t("password.rules", { min })}`}
          autoComplete="new-password"
          required
          visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
          value={newPassword}
          onChange={(event) => setNewPassword(event.currentTarget.value)}
        />
      ) : null}
      <LogInError error={logIn.error} refused="log-in.refused" />
      <Button type="submit" loading={logIn.isPending}>
        {t("log-in")}
      </Button>
      {ways?.mailsPasswordLinks && (
        <Anchor component="button" type="button" onClick={() => setForgotten(true)}>
          {t("log-in.forgotten")}
        </Anchor>
      )}
      <PasskeyButton
        options={() => client.passkeyOptions("nothing")}
        submit={client.logInWithPasskey}
        onDone={refreshSession}
      />
      <SupportContact />
    </form>
  );
}

/** Where somebody wanted to be. */
function currentPath(): string {
  return `${location.pathname}${location.search}`;
}
