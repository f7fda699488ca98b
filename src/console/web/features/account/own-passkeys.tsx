import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import type { SecondFactorRow } from "../../api/rows.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import type { MessageKey } from "../../i18n/message-keys.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { type CreationOptions, createPasskey, hasPasskeys } from "./passkeys.ts";

interface OwnPasskeysProps {
  userId: string;
  passkeys: readonly SecondFactorRow[];
  /** Null if the user had recovery codes before. */
  onAdded(recoveryCodes: readonly string[] | null): void;
  onRemove(passkey: SecondFactorRow): void;
}

/** The passkeys of the current user, and a new one. */
export function OwnPasskeys({ userId, passkeys, onAdded, onRemove }: OwnPasskeysProps) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const [name, setName] = useState<string | null>(null);
  const [problem, setProblem] = useState<MessageKey | null>(null);
  const add = useRowMutation<string, void>("second-factors", async (given) => {
    setProblem(null);
    const passkey = await createPasskey(
      await client.post<CreationOptions>("users/{userId}/passkey-options", { userId }, {}),
    );
    if (passkey === null) return setProblem("passkey.not-created");
    const added = await client.post<{ recoveryCodes: string[] | null }>(
      "users/{userId}/passkeys",
      { userId },
      { name: given, passkey },
    );
    setName(null);
    onAdded(added.recoveryCodes);
  });
  return (
    <div className="stack">
      {passkeys.map((passkey) => (
        <div className="row" key={passkey.id}>
          <span>{passkey.name}</span>
          <Button
            variant="default"
            aria-label={t("passkey.remove-named", { name: passkey.name ?? "" })}
            onClick={() => onRemove(passkey)}
          >
            {t("passkey.remove")}
          </Button>
        </div>
      ))}
      {!hasPasskeys() && <p className="soft">{t("passkey.unsupported")}</p>}
      {hasPasskeys() && name === null && (
        <div>
          <Button variant="default" onClick={() => setName("")}>
            {t("passkey.add")}
          </Button>
        </div>
      )}
      {name !== null && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            add.mutate(name);
          }}
        >
          <TextInput
            label={t("passkey.name")}
            description={t("passkey.name-hint")}
            required
            maxLength={140}
            autoFocus
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {problem && (
            <p className="fault" role="alert">
              {t(problem)}
            </p>
          )}
          <ErrorLine error={add.error} />
          <div className="row">
            <Button type="submit" loading={add.isPending}>
              {t("passkey.create")}
            </Button>
            <Button variant="default" onClick={() => setName(null)}>
              {t("cancel")}
            </Button>
          </div>
        </form>
      )}
    </div>
  );
}
