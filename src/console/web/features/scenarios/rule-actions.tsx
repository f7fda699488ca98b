import { Button, NativeSelect, PasswordInput, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { RuleActionRow } from "../../api/scenario-rows.ts";
import { useRowMutation, useRows } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RemoveButton } from "../../ui/remove-button.tsx";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";

const METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE"];
const EMPTY = { name: "", url: "", method: "POST", authorization: "" };

const ONE = "scenarios/{scenarioId}/rule-actions/{ruleActionId}";

/** External systems called when the scenario is started. */
export function RuleActions({ scenarioId }: { scenarioId: string }) {
  const { t } = useTranslation();
  const actions = useRows<RuleActionRow>("scenarios/{scenarioId}/rule-actions", { scenarioId }, { limit: 100 });
  const rows = actions.data?.data ?? [];
  return (
    <section className="stack">
      <p className="soft">{t("rule-action.intro")}</p>
      <ErrorLine error={actions.error} />
      {actions.data?.total === 0 && <p className="soft">{t("rule-action.none")}</p>}
      <ul className="plain lined">
        {rows.map(({ id, name, action, triggerId }) => (
          <li key={id} className="row">
            <span className="grow stack tight">
              <strong>{name}</strong>
              <small className="soft" style={{ overflowWrap: "anywhere" }}>
                {action?.webhook?.method ?? "POST"} {action?.webhook?.url}
              </small>
            </span>
            {triggerId && (
              <Link to="/webhooks" search={{ open: triggerId }}>
                {t("rule-action.calls")}
              </Link>
            )}
            <RemoveButton route={ONE} params={{ scenarioId, ruleActionId: id }} id={id} name={name ?? ""} />
          </li>
        ))}
      </ul>
      <AddAction scenarioId={scenarioId} />
    </section>
  );
}

function AddAction({ scenarioId }: { scenarioId: string }) {
  const translator = useTranslation();
  const { t } = translator;
  const { client, notify } = useConsole();
  const [draft, setDraft] = useState(EMPTY);
  const adding = useRowMutation<void, void>("rule-actions", async () => {
    const { method, authorization } = draft;
    const webhook = { url: draft.url.trim(), method, ...(authorization ? { authorization } : {}) };
    const action = { type: "webhook", webhook };
    const name = draft.name.trim();
    await client.post("scenarios/{scenarioId}/rule-actions", { scenarioId }, { action, ...(name ? { name } : {}) });
    setDraft(EMPTY);
    notify(t("saved"));
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    adding.mutate();
  };
  return (
    <form className="stack" onSubmit={submit}>
      <TextInput
        label={t("field.url")}
        description={t("webhook.url-hint")}
        type="url"
        required
        maxLength={1_000}
        value={draft.url}
        error={fieldErrorText(adding.error, "url", translator)}
        onChange={(event) => setDraft({ ...draft, url: event.currentTarget.value })}
      />
      <NativeSelect
        label={t("rule-action.method")}
        data={METHODS}
        value={draft.method}
        onChange={(event) => setDraft({ ...draft, method: event.currentTarget.value })}
      />
      <PasswordInput
        label={t("rule-action.authorization")}
        description={t("rule-action.authorization-hint")}
        autoComplete="off"
        maxLength={2_000}
        value={draft.authorization}
        onChange={(event) => setDraft({ ...draft, authorization: event.currentTarget.value })}
      />
      <TextInput
        label={t("field.name")}
        description={t("rule-action.name-hint")}
        maxLength={140}
        value={draft.name}
        error={fieldErrorText(adding.error, "name", translator)}
        onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
      />
      <ErrorLine error={adding.error} />
      <div>
        <Button type="submit" variant="default" disabled={draft.url.trim() === ""} loading={adding.isPending}>
          {t("rule-action.add")}
        </Button>
      </div>
    </form>
  );
}
