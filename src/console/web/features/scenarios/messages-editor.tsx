import { Button, Textarea, TextInput } from "@mantine/core";
import type { ScenarioMessage } from "../../api/scenario-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ItemHeader } from "../../ui/form/item-header.tsx";
import { moveItem } from "../../ui/form/move-item.ts";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { RowsSelect } from "../../ui/form/rows-select.tsx";

/** A message without overrides of its template. */
export const EMPTY_SCENARIO_MESSAGE: ScenarioMessage = {
  name: "",
  messageTemplateId: null,
  subject: null,
  body: null,
  ttsCustomContent: null,
  confirmationRequestId: null,
  siteRoleIds: [],
};

const LIMIT = 50;

interface MessagesProps {
  messages: readonly ScenarioMessage[];
  /** What may stand in braces in the texts. */
  variables: readonly string[];
  error: unknown;
  onChange(messages: readonly ScenarioMessage[]): void;
}

/** The messages of a scenario, in the order in which they are sent; at least one. */
export function MessagesEditor({ messages, variables, error, onChange }: MessagesProps) {
  const { t } = useTranslation();
  const change = (at: number, part: Partial<ScenarioMessage>) =>
    onChange(messages.map((message, index) => (index === at ? { ...message, ...part } : message)));
  return (
    <div className="stack">
      {messages.map((message, at) => (
        <fieldset key={message.id ?? at} className="card part">
          <ItemHeader
            title={t("message.number", { number: at + 1 })}
            {...{ at, count: messages.length }}
            onMove={(to) => onChange(moveItem(messages, at, to))}
            onRemove={messages.length === 1 ? undefined : () => onChange(messages.filter((_, index) => index !== at))}
          />
          <MessageFields {...{ message, at, variables, error }} onChange={(part) => change(at, part)} />
        </fieldset>
      ))}
      {messages.length < LIMIT && (
        <div>
          <Button variant="default" onClick={() => onChange([...messages, EMPTY_SCENARIO_MESSAGE])}>
            {t("message.add")}
          </Button>
        </div>
      )}
    </div>
  );
}

interface FieldsProps {
  message: ScenarioMessage;
  at: number;
  variables: readonly string[];
  error: unknown;
  onChange(part: Partial<ScenarioMessage>): void;
}

function MessageFields({ message, at, variables, error, onChange }: FieldsProps) {
  const translator = useTranslation();
  const { t } = translator;
  const fault = (member: string) => fieldErrorText(error, `messages[${at}].${member}`, translator);
  const text = (value: string) => (value === "" ? null : value);
  return (
    <>
      <TextInput
        label={t("field.name")}
        description={t("message.name-hint")}
        required
        maxLength={140}
        value={message.name}
        error={fault("name")}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <RowSelect
        label={t("message.template")}
        placeholder={t("message.choose-template")}
        description={t("message.template-hint")}
        withAsterisk
        route="message-templates"
        value={message.messageTemplateId}
        error={fault("messageTemplateId")}
        onChange={(messageTemplateId) => onChange({ messageTemplateId })}
      />
      <RowsSelect
        label={t("message.roles")}
        placeholder={t("message.choose-roles")}
        description={t("message.roles-hint")}
        route="site-roles"
        value={message.siteRoleIds}
        error={fault("siteRoleIds")}
        onChange={(siteRoleIds) => onChange({ siteRoleIds })}
      />
      <details {...(hasOwnWords(message) ? { open: true } : {})}>
        <summary>{t("message.own-text")}</summary>
        <div className="stack">
          {variables.length > 0 && (
            <p className="soft">
              {t("message.variables", { variables: variables.map((name) => `{{${name}}}`).join(", ") })}
            </p>
          )}
          <TextInput
            label={t("field.subject")}
            placeholder={t("message.as-template")}
            maxLength={255}
            value={message.subject ?? ""}
            error={fault("subject")}
            onChange={(event) => onChange({ subject: text(event.currentTarget.value) })}
          />
          <Textarea
            label={t("field.body")}
            placeholder={t("message.as-template")}
            autosize
            minRows={2}
            maxLength={10_000}
            value={message.body ?? ""}
            error={fault("body")}
            onChange={(event) => onChange({ body: text(event.currentTarget.value) })}
          />
          <Textarea
            label={t("message.spoken")}
            placeholder={t("message.as-template")}
            autosize
            minRows={2}
            maxLength={10_000}
            value={message.ttsCustomContent ?? ""}
            error={fault("ttsCustomContent")}
            onChange={(event) => onChange({ ttsCustomContent: text(event.currentTarget.value) })}
          />
          <RowSelect
            label={t("field.confirmationRequestId")}
            placeholder={t("message.as-template")}
            route="confirmation-requests"
            value={message.confirmationRequestId}
            error={fault("confirmationRequestId")}
            onChange={(confirmationRequestId) => onChange({ confirmationRequestId })}
          />
        </div>
      </details>
    </>
  );
}

function hasOwnWords({ subject, body, ttsCustomContent, confirmationRequestId }: ScenarioMessage): boolean {
  return [subject, body, ttsCustomContent, confirmationRequestId].some((value) => value !== null);
}
