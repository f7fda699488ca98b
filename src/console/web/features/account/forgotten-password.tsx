import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";

/** Asks for a mail with a link to set a new password; never tells whether there is such an account. */
export function ForgottenPassword({ email, onBack }: { email: string; onBack: () => void }) {
  const { t } = useTranslation();
  const { client } = useConsole();
  const [given, setGiven] = useState(email);
  const request = useMutation({ mutationFn: () => client.requestPasswordLink(given) });
  return (
    <form
      className="card"
      onSubmit={(event) => {
        event.preventDefault();
        request.mutate();
      }}
    >
      <h1>{t("password-reset.title")}</h1>
      {request.isSuccess ? (
        <p role="status">{t("password-reset.sent")}</p>
      ) : (
        <>
          <p className="soft">{t("password-reset.ask")}</p>
          <TextInput
            label={t("field.email")}
            type="email"
            autoComplete="username"
            required
            data-autofocus
            value={given}
            onChange={(event) => setGiven(event.currentTarget.value)}
          />
          <ErrorLine error={request.error} />
          <Button type="submit" loading={request.isPending}>
            {t("password-reset.send")}
          </Button>
        </>
      )}
      <Button variant="default" onClick={onBack}>
        {t("password-reset.back")}
      </Button>
    </form>
  );
}
