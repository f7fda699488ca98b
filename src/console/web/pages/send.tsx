import { Button, MultiSelect, Select, Textarea, TextInput } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { ALERT_TONE_NAMES } from "../../../resources/messages/alert-tones.ts";
import type { ConfirmationRow, GroupRow, ListRow, NotificationRow, TemplateRow } from "../api/rows.ts";
import { useChange, useRows } from "../api/use-rows.ts";
import { useConsole } from "../console-context.tsx";
import { ChoiceBar } from "../parts/choice-bar.tsx";
import { FaultLine } from "../parts/fault-line.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { fieldFault } from "../words/fault-words.ts";
import { useWords } from "../words/use-words.tsx";
import { LiveQuestion } from "./live-question.tsx";
import { ReachPreview } from "./reach-preview.tsx";
import {
  bodyOf,
  EMPTY_MESSAGE,
  formOf,
  isSendable,
  type Message,
  mayChange,
  messageFrom,
  type Part,
} from "./send-message.ts";
import "../parts/input-styles.ts";

const ALL = { limit: 1_000, sort: "name" };

/** Who will hear what, and when. */
export default function SendPage() {
  const words = useWords();
  const { t } = words;
  const { open } = useSearch({ strict: false });
  const templates = useRows<TemplateRow>("message-templates", {}, { ...ALL, followUp: false });
  const [message, setMessage] = useState<Message>(EMPTY_MESSAGE);
  const [asking, setAsking] = useState(false);
  const [devices, setDevices] = useState<number | null>(null);
  const template = templates.data?.data.find(({ id }) => id === message.templateId) ?? null;
  const change = (part: Partial<Message>) => setMessage((old) => ({ ...old, ...part }));
  const choose = (next: TemplateRow | null) =>
    setMessage((old) => (next ? messageFrom(next, old) : { ...EMPTY_MESSAGE, drill: old.drill }));
  const opened = templates.data?.data.find(({ id }) => id === open);
  useEffect(() => {
    if (opened) setMessage((old) => messageFrom(opened, old));
  }, [opened]);
  const sending = useSending(message, template);
  const locked = (part: Part) => !mayChange(template, part);
  const press = () => (message.drill ? sending.mutate() : setAsking(true));
  return (
    <div className="page">
      <Tabs of="send" />
      <h1>{t("send.title")}</h1>
      <Mode drill={message.drill} onChange={(drill) => change({ drill })} />
      <TemplateTiles rows={templates.data?.data ?? []} chosen={message.templateId} onChoose={choose} />
      <div className="split">
        <form
          className="card"
          onSubmit={(event) => {
            event.preventDefault();
            press();
          }}
        >
          <TextInput
            label={t("field.subject")}
            required
            maxLength={255}
            value={message.subject}
            {...keptIf(locked("subject"))}
            error={fieldFault(sending.error, "subject", words)}
            onChange={(event) => change({ subject: event.currentTarget.value })}
          />
          <Textarea
            label={t("field.body")}
            autosize
            minRows={3}
            maxLength={10_000}
            value={message.body}
            {...keptIf(locked("body"))}
            onChange={(event) => change({ body: event.currentTarget.value })}
          />
          <Recipients message={message} locked={locked} onChange={change} />
          <Sound message={message} template={template} locked={locked} onChange={change} />
          {template && <p className="soft">{t("send.kept")}</p>}
          <FaultLine error={sending.error} />
          <div className="savebar">
            <Button
              type="submit"
              size="md"
              color={message.drill ? "yellow" : "red"}
              {...(message.drill ? { className: "drill" } : {})}
              disabled={!isSendable(message)}
              loading={sending.isPending}
            >
              {message.drill ? t("send.drill") : t("send.live")}
            </Button>
            {!isSendable(message) && <span className="soft">{t("send.missing")}</span>}
          </div>
        </form>
        <ReachPreview message={message} template={template} onDevices={setDevices} />
      </div>
      {asking && (
        <LiveQuestion
          subject={message.subject}
          devices={devices}
          onSend={() => {
            sending.mutate();
            setAsking(false);
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

/** Sends once, however often it is asked: the key stays the same until the message changes. */
function useSending(message: Message, template: TemplateRow | null) {
  const { client } = useConsole();
  const navigate = useNavigate();
  const [key, setKey] = useState(newKey);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another message is another send
  useEffect(() => setKey(newKey()), [message]);
  const sending = useChange<void, NotificationRow>("notifications", () => {
    const body = bodyOf(message, template, false);
    return client.post("notifications", {}, message.audio ? formOf(body, message.audio) : body, {
      "Idempotency-Key": key,
    });
  });
  const { mutate } = sending;
  return {
    ...sending,
    mutate: () =>
      !sending.isPending &&
      mutate(undefined, {
        onSuccess: ({ id }) => void navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } }),
      }),
  };
}

/** Not crypto.randomUUID(), which browsers offer on secure pages only. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function Mode({ drill, onChange }: { drill: boolean; onChange: (drill: boolean) => void }) {
  const { t } = useWords();
  return (
    <div className={drill ? "mode drill row" : "mode row"}>
      <ChoiceBar
        label={t("send.mode")}
        value={drill ? "drill" : "live"}
        onChange={(value) => onChange(value === "drill")}
        choices={[
          { value: "live", label: t("live.word") },
          { value: "drill", label: t("drill.word") },
        ]}
      />
      <span>{drill ? t("send.mode-drill") : t("send.mode-live")}</span>
    </div>
  );
}

interface TilesProps {
  rows: readonly TemplateRow[];
  chosen: string | null;
  onChoose(template: TemplateRow | null): void;
}

const MOST_TILES = 11;

function TemplateTiles({ rows, chosen, onChoose }: TilesProps) {
  const { t } = useWords();
  if (rows.length === 0) return null;
  const shown = rows.slice(0, MOST_TILES);
  const rest = rows.slice(MOST_TILES);
  return (
    <section className="stack" aria-label={t("send.templates")}>
      <div className="tiles">
        <button type="button" className="tile" aria-pressed={chosen === null} onClick={() => onChoose(null)}>
          {t("send.free")}
          <small>{t("send.free-hint")}</small>
        </button>
        {shown.map((row) => (
          <button
            key={row.id}
            type="button"
            className="tile"
            aria-pressed={chosen === row.id}
            onClick={() => onChoose(row)}
          >
            {row.name}
            <small>{row.subject}</small>
          </button>
        ))}
      </div>
      {rest.length > 0 && (
        <Select
          aria-label={t("send.more-templates")}
          placeholder={t("send.more-templates")}
          searchable
          clearable
          value={rest.some(({ id }) => id === chosen) ? chosen : null}
          data={rest.map(({ id, name }) => ({ value: id, label: name }))}
          onChange={(id) => onChoose(rest.find((row) => row.id === id) ?? null)}
        />
      )}
    </section>
  );
}

interface PartProps {
  message: Message;
  locked(part: Part): boolean;
  onChange(part: Partial<Message>): void;
}

function Recipients({ message, locked, onChange }: PartProps) {
  const { t } = useWords();
  const groups = useRows<GroupRow>("device-groups", {}, ALL);
  const lists = useRows<ListRow>("distribution-lists", {}, ALL);
  return (
    <>
      <MultiSelect
        label={t("field.deviceGroupIds")}
        description={t("send.groups-hint")}
        searchable
        data={optionsOf(groups.data?.data)}
        value={[...message.deviceGroupIds]}
        {...keptIf(locked("deviceGroupIds"))}
        onChange={(deviceGroupIds) => onChange({ deviceGroupIds })}
        nothingFoundMessage={t("search.none")}
      />
      <MultiSelect
        label={t("field.distributionListIds")}
        description={t("send.lists-hint")}
        searchable
        data={optionsOf(lists.data?.data)}
        value={[...message.distributionListIds]}
        {...keptIf(locked("distributionListIds"))}
        onChange={(distributionListIds) => onChange({ distributionListIds })}
        nothingFoundMessage={t("search.none")}
      />
    </>
  );
}

function Sound({ message, template, locked, onChange }: PartProps & { template: TemplateRow | null }) {
  const { t } = useWords();
  const confirmations = useRows<ConfirmationRow>("confirmation-requests", {}, ALL);
  return (
    <>
      <Select
        label={t("field.alertTone")}
        searchable
        allowDeselect={false}
        data={[...ALERT_TONE_NAMES]}
        value={message.alertTone}
        {...keptIf(locked("alertTone"))}
        onChange={(alertTone) => onChange({ alertTone: alertTone ?? "default" })}
      />
      <div>
        <label htmlFor="recording">{t("field.audio")}</label>
        <p className="soft" id="recording-hint">
          {template && template.audio > 0 ? t("send.audio-of-template") : t("send.audio-hint")}
        </p>
        <input
          id="recording"
          key={message.templateId}
          type="file"
          accept=".wav,audio/wav"
          aria-describedby="recording-hint"
          disabled={locked("audio")}
          onChange={(event) => onChange({ audio: event.currentTarget.files?.[0] ?? null })}
        />
        {message.audio && <RecordingPreview file={message.audio} />}
      </div>
      <Select
        label={t("field.confirmationRequestId")}
        clearable
        data={optionsOf(confirmations.data?.data)}
        value={message.confirmationRequestId}
        {...keptIf(template !== null)}
        onChange={(confirmationRequestId) => onChange({ confirmationRequestId })}
      />
    </>
  );
}

function RecordingPreview({ file }: { file: File }) {
  const { t } = useWords();
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const made = URL.createObjectURL(file);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [file]);
  // biome-ignore lint/a11y/useMediaCaption: the recording's words are the message's text
  return url ? <audio controls src={url} aria-label={t("send.audio-preview")} /> : null;
}

/** How a field looks and behaves that belongs to the template. */
function keptIf(kept: boolean) {
  return kept ? { readOnly: true, variant: "filled" } : {};
}

function optionsOf(rows: readonly { id: string; name: string }[] | undefined) {
  return (rows ?? []).map(({ id, name }) => ({ value: id, label: name }));
}
