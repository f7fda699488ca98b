import { Button, Textarea, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { CallerError } from "../../../../lib/errors.ts";
import { useRowMutation } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { errorText } from "../../i18n/error-text.ts";
import type { SentenceOfApi } from "../../i18n/translator.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SegmentedChoice } from "../../ui/segmented-choice.tsx";
import "../../ui/input-styles.ts";

type Mode = "join" | "adopt";

/** Links the appliance to a cloud with an enrolment code. */
export function EnrolmentForm() {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [mode, setMode] = useState<Mode>("join");
  const enrolling = useRowMutation<Record<string, string>, void>("link", async (given) => {
    await client.post("link", {}, { ...given, mode });
    notify(t("cloud.enrolled"));
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value).trim()] as const);
    enrolling.mutate(Object.fromEntries(given.filter(([, value]) => value !== "")));
  };
  const { error } = enrolling;
  return (
    <form className="stack" onSubmit={submit} aria-label={t("cloud.enrol")}>
      <h3>{t("cloud.enrol")}</h3>
      <p className="soft">{t("cloud.enrol-text")}</p>
      <TextInput name="hub" type="url" required label={t("cloud.address")} description={t("cloud.address-hint")} />
      <TextInput name="code" required autoComplete="off" label={t("cloud.code")} description={t("cloud.code-hint")} />
      <SegmentedChoice<Mode>
        label={t("cloud.mode")}
        value={mode}
        onChange={setMode}
        choices={[
          { value: "join", label: t("cloud.mode-join") },
          { value: "adopt", label: t("cloud.mode-adopt") },
        ]}
      />
      <Textarea
        name="authority"
        autosize
        maxRows={6}
        label={t("cloud.authority")}
        description={t("cloud.authority-hint")}
      />
      {error && (
        <p className="fault" role="alert">
          {error instanceof CallerError && error.type === "upstream" && error.message
            ? translator.say(error.message, error.context.sentence as SentenceOfApi | undefined)
            : errorText(error, translator)}
        </p>
      )}
      <div>
        <Button type="submit" loading={enrolling.isPending}>
          {t("cloud.enrol-go")}
        </Button>
      </div>
    </form>
  );
}
