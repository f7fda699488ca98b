import { Button, PasswordInput } from "@mantine/core";
import { useState } from "react";
import type { SecondFactorRow, SessionRow } from "../../api/rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { OwnPasskeys } from "./own-passkeys.tsx";
import { QrCode } from "./qr-code.tsx";
import { CodeInput, isWrongCode } from "./second-factor-step.tsx";
import "@mantine/core/styles/PasswordInput.css";

const RESOURCE = "second-factors";

/** What the user is asked to prove with the password. */
type Task = "set-up" | "renew" | "remove" | "remove-passkey";

/** A key that waits for its first code. */
interface Enrolment {
  secret: string;
  uri: string;
}

interface SecondFactorsProps {
  session: SessionRow;
  /** Called when a factor was set up, and its recovery codes were read. */
  onSetUp?(): void;
}

/** The second factors of the current user: passkeys, authenticator app, recovery codes. */
export function SecondFactors({ session, onSetUp }: SecondFactorsProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const { userId } = session;
  const rows = useRows<SecondFactorRow>("users/{userId}/second-factors", { userId }).data?.data;
  const [task, setTask] = useState<Task | null>(null);
  const [passkey, setPasskey] = useState<SecondFactorRow | null>(null);
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null);
  const [recoveryCodes, setRecoveryCodes] = useState<readonly string[] | null>(null);
  const start = useRowMutation<string, void>(RESOURCE, async (currentPassword) => {
    if (task === "remove" || task === "remove-passkey") {
      const only = task === "remove-passkey" && passkey ? { secondFactorId: passkey.id } : {};
      await client.post("users/{userId}/second-factor-removal", { userId }, { currentPassword, ...only });
      notify(t("second-factor.removed"));
    } else if (task === "renew") {
      const renewed = await client.post<{ recoveryCodes: string[] }>(
        "users/{userId}/recovery-codes",
        { userId },
        { currentPassword },
      );
      setRecoveryCodes(renewed.recoveryCodes);
    } else {
      setEnrolment(await client.post("users/{userId}/authenticator-app", { userId }, { currentPassword }));
    }
    setTask(null);
  });
  if (!rows) return null;
  if (recoveryCodes) {
    return (
      <RecoveryCodes
        codes={recoveryCodes}
        onDone={() => {
          setRecoveryCodes(null);
          onSetUp?.();
        }}
      />
    );
  }
  if (enrolment) {
    return (
      <Confirmation
        {...{ userId, enrolment }}
        onCancel={() => setEnrolment(null)}
        onConfirmed={(codes) => {
          setEnrolment(null);
          setRecoveryCodes(codes);
        }}
      />
    );
  }
  const choose = (next: Task) => () => {
    start.reset();
    setTask(next);
  };
  const hasApp = rows.some(({ kind }) => kind === "totp");
  const passkeys = rows.filter(({ kind }) => kind === "passkey");
  const isSetUp = hasApp || passkeys.length > 0;
  const codesLeft = rows.find(({ kind }) => kind === "recovery-codes")?.codesLeft ?? 0;
  return (
    <div className="stack">
      <p className="soft">{isSetUp ? t("second-factor.on", { count: codesLeft }) : t("second-factor.off")}</p>
      <OwnPasskeys
        {...{ userId, passkeys }}
        onAdded={(codes) => (codes ? setRecoveryCodes(codes) : onSetUp?.())}
        onRemove={(removed) => {
          setPasskey(removed);
          choose("remove-passkey")();
        }}
      />
      {task ? (
        <PasswordForm
          error={start.error}
          isPending={start.isPending}
          label={t(`second-factor.${task}`)}
          onCancel={() => setTask(null)}
          onSubmit={start.mutate}
        />
      ) : (
        <div className="row">
          <Button variant="default" onClick={choose("set-up")}>
            {t(hasApp ? "second-factor.replace" : "second-factor.set-up")}
          </Button>
          {isSetUp && (
            <Button variant="default" onClick={choose("renew")}>
              {t("second-factor.renew")}
            </Button>
          )}
          {isSetUp && (
            <Button variant="default" onClick={choose("remove")}>
              {t("second-factor.remove")}
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

interface PasswordFormProps {
  label: string;
  error: unknown;
  isPending: boolean;
  onSubmit(password: string): void;
  onCancel(): void;
}

function PasswordForm({ label, error, isPending, onSubmit, onCancel }: PasswordFormProps) {
  const translator = useTranslation();
  const { t } = translator;
  const [password, setPassword] = useState("");
  const wrong = fieldErrorText(error, "currentPassword", translator);
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(password);
      }}
    >
      <PasswordInput
        label={t("second-factor.password")}
        autoComplete="current-password"
        required
        maxLength={1_024}
        visibilityToggleButtonProps={{ "aria-label": t("form.reveal") }}
        value={password}
        error={wrong && t("second-factor.wrong-password")}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {wrong === null && <ErrorLine error={error} />}
      <div className="row">
        <Button type="submit" loading={isPending}>
          {label}
        </Button>
        <Button variant="default" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

interface ConfirmationProps {
  userId: string;
  enrolment: Enrolment;
  onConfirmed(recoveryCodes: readonly string[]): void;
  onCancel(): void;
}

function Confirmation({ userId, enrolment: { secret, uri }, onConfirmed, onCancel }: ConfirmationProps) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const [code, setCode] = useState("");
  const confirm = useRowMutation<void, void>(RESOURCE, async () => {
    const confirmed = await client.post<{ recoveryCodes: string[] }>(
      "users/{userId}/authenticator-app/confirmation",
      { userId },
      { code },
    );
    onConfirmed(confirmed.recoveryCodes);
  });
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate();
      }}
    >
      <p>{t("second-factor.scan")}</p>
      <QrCode text={uri} label={t("second-factor.qr-code")} />
      <p>
        {t("second-factor.key")} <code>{secret.match(/.{1,4}/g)?.join(" ")}</code>
      </p>
      <CodeInput value={code} error={confirm.error} onChange={setCode} hint={t("second-factor.app-code")} />
      {!isWrongCode(confirm.error) && <ErrorLine error={confirm.error} />}
      <div className="row">
        <Button type="submit" loading={confirm.isPending}>
          {t("second-factor.confirm")}
        </Button>
        <Button variant="default" onClick={onCancel}>
          {t("cancel")}
        </Button>
      </div>
    </form>
  );
}

function RecoveryCodes({ codes, onDone }: { codes: readonly string[]; onDone: () => void }) {
  const { t } = useTranslation();
  return (
    <div className="stack">
      <p role="status">{t("second-factor.recovery-codes")}</p>
      <ul>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      <div>
        <Button onClick={onDone}>{t("second-factor.saved")}</Button>
      </div>
    </div>
  );
}
