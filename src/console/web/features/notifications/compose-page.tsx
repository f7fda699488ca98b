import { Button, Textarea, TextInput } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { NotificationRow, TemplateRow } from "../../api/rows.ts";
import { useRow, useRows } from "../../api/use-rows.ts";
import { fieldErrorText } from "../../i18n/error-text.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { ModeBar } from "../../ui/mode-bar.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { DrillChip } from "../../ui/status-chip.tsx";
import { useUnsavedChanges } from "../../ui/use-unsaved-changes.tsx";
import { AllClearFields, type DraftPartProps, lockedIf, Recipients, SoundFields } from "./compose-fields.tsx";
import { ConfirmLiveDialog } from "./confirm-live-dialog.tsx";
import {
  type DraftPart,
  draftFromTemplate,
  EMPTY_DRAFT,
  followUpDraft,
  isDraftDirty,
  isEditable,
  missingPart,
  type NotificationDraft,
  notificationBody,
  notificationFormData,
  recordingOf,
} from "./notification-draft.ts";
import { type PreviewedReach, RecipientPreview } from "./recipient-preview.tsx";
import { TemplateTiles } from "./template-tiles.tsx";
import { useSend } from "./use-send.ts";
import "../../ui/input-styles.ts";
import { PageTitle } from "../../ui/page-title.tsx";

const ALL = { limit: 1_000, sort: "name" };

/** Composes and sends a notification. */
export default function ComposePage() {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { message, template, before, templates, change, choose } = useMessage();
  const [asking, setAsking] = useState(false);
  const [reach, setReach] = useState<PreviewedReach>({ devices: null, warning: null });
  const sending = useSend(message);
  const unsaved = useUnsavedChanges(isDraftDirty(message, template) && !sending.isPending && !sending.sent);
  const send = () => {
    const body = notificationBody(message, template, false);
    const recording = recordingOf(message);
    sending.send(recording ? notificationFormData(body, recording) : body, ({ id }) => {
      void navigate({ to: "/broadcasts/$notificationId", params: { notificationId: id } });
    });
  };
  return (
    <div className={message.drill ? "page in-drill" : "page"}>
      {unsaved}
      <SectionTabs of="send" />
      <PageTitle>
        {t("send.title")} <DrillChip drill={message.drill} />
      </PageTitle>
      {before ? (
        <FollowUpNote before={before} />
      ) : (
        <ModeBar drill={message.drill} onChange={(drill) => change({ drill })} />
      )}
      <TemplateTiles rows={templates} chosen={message.templateId} onChoose={choose} />
      <div className="split">
        <MessageForm
          {...{ message, template, sending }}
          locked={(part) => !isEditable(template, part)}
          onChange={change}
          onSend={() => (message.drill ? send() : setAsking(true))}
        />
        <RecipientPreview message={message} template={template} onReach={setReach} />
      </div>
      {asking && (
        <ConfirmLiveDialog
          subject={message.subject}
          {...reach}
          emergency={template?.priority === "critical"}
          onSend={() => {
            send();
            setAsking(false);
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </div>
  );
}

/** What is being written: from a template and as the continuation of a message where the address says so. */
function useMessage() {
  const { open, follow } = useSearch({ strict: false });
  const read = useRows<TemplateRow>("message-templates", {}, { ...ALL, followUp: follow !== undefined });
  const parent = useRow<NotificationRow>(
    "notifications/{notificationId}",
    { notificationId: follow ?? "" },
    {},
    { enabled: follow !== undefined },
  );
  const [message, setMessage] = useState<NotificationDraft>(EMPTY_DRAFT);
  const templates = read.data?.data ?? [];
  const before = follow ? parent.data : undefined;
  const opened = templates.find(({ id }) => id === open);
  useEffect(() => {
    if (opened) setMessage((old) => draftFromTemplate(opened, old));
  }, [opened]);
  useEffect(() => {
    if (before) setMessage((old) => followUpDraft(before, old));
  }, [before]);
  return {
    message,
    templates,
    before,
    template: templates.find(({ id }) => id === message.templateId) ?? null,
    change: (part: Partial<NotificationDraft>) => setMessage((old) => ({ ...old, ...part })),
    choose: (next: TemplateRow | null) =>
      setMessage((old) => {
        const bare = { ...EMPTY_DRAFT, drill: old.drill };
        const chosen = next ? draftFromTemplate(next, old) : bare;
        return before ? followUpDraft(before, chosen) : chosen;
      }),
  };
}

/** What this message continues decides whether it is a drill. */
function FollowUpNote({ before }: { before: NotificationRow }) {
  const { t } = useTranslation();
  const subject = before.subject ?? "";
  return (
    <p className={before.drill ? "mode drill" : "mode"}>
      {before.drill ? t("send.continues-drill", { subject }) : t("send.continues", { subject })}
    </p>
  );
}

interface MessageFormProps extends DraftPartProps {
  template: TemplateRow | null;
  sending: { isPending: boolean; error: unknown };
  locked(part: DraftPart): boolean;
  onSend(): void;
}

function MessageForm({ message, template, sending, locked, onChange, onSend }: MessageFormProps) {
  const translator = useTranslation();
  const { t } = translator;
  const missing = missingPart(message);
  return (
    <form
      className={message.drill ? "card drill-edge" : "card live-edge"}
      onSubmit={(event) => {
        event.preventDefault();
        onSend();
      }}
    >
      <TextInput
        label={t("field.subject")}
        required
        maxLength={255}
        value={message.subject}
        {...lockedIf(locked("subject"))}
        error={fieldErrorText(sending.error, "subject", translator)}
        onChange={(event) => onChange({ subject: event.currentTarget.value })}
      />
      <Textarea
        label={t("field.body")}
        autosize
        minRows={3}
        maxLength={10_000}
        value={message.body}
        {...lockedIf(locked("body"))}
        onChange={(event) => onChange({ body: event.currentTarget.value })}
      />
      <Recipients message={message} locked={locked} onChange={onChange} />
      <SoundFields message={message} template={template} locked={locked} onChange={onChange} />
      <AllClearFields message={message} onChange={onChange} />
      {template && <p className="soft">{t("send.kept")}</p>}
      <ErrorLine error={sending.error} />
      <div className="savebar">
        <Button
          type="submit"
          size="md"
          color={message.drill ? "yellow" : "red"}
          {...(message.drill ? { className: "drill" } : {})}
          disabled={missing !== null}
          loading={sending.isPending}
        >
          {message.drill ? t("send.drill") : t("send.live")}
        </Button>
        {missing && <span className="soft">{t(missing)}</span>}
      </div>
    </form>
  );
}
