import { Button, MultiSelect, Select, Textarea, TextInput } from "@mantine/core";
import { ALERT_TONE_NAMES } from "../../../../resources/messages/alert-tones.ts";
import type { ConfirmationRequestRow, DistributionListRow, GroupRow, TemplateRow } from "../../api/rows.ts";
import { useRows } from "../../api/use-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RecordingField } from "../../ui/recording/recording-field.tsx";
import { ToneButton } from "../../ui/tone-button.tsx";
import { useSpeechPreview } from "../../ui/use-speech-preview.ts";
import {
  type DraftPart,
  type NotificationDraft,
  recordingOf,
  SPOKEN_PARTS,
  type SpokenPart,
} from "./notification-draft.ts";

const ALL = { limit: 1_000, sort: "name" };

/** Props of a part of the compose form. */
export interface DraftPartProps {
  message: NotificationDraft;
  /** The template keeps the part to itself. */
  locked(part: DraftPart): boolean;
  onChange(part: Partial<NotificationDraft>): void;
}

/** Recipient fields. */
export function Recipients({ message, locked, onChange }: DraftPartProps) {
  const { t } = useTranslation();
  const groups = useRows<GroupRow>("device-groups", {}, ALL);
  const lists = useRows<DistributionListRow>("distribution-lists", {}, ALL);
  return (
    <>
      <MultiSelect
        label={t("field.deviceGroupIds")}
        description={t("send.groups-hint")}
        searchable
        data={optionsOf(groups.data?.data)}
        value={[...message.deviceGroupIds]}
        {...lockedIf(locked("deviceGroupIds"))}
        onChange={(deviceGroupIds) => onChange({ deviceGroupIds })}
        nothingFoundMessage={t("search.none")}
      />
      <MultiSelect
        label={t("field.distributionListIds")}
        description={t("send.lists-hint")}
        searchable
        data={optionsOf(lists.data?.data)}
        value={[...message.distributionListIds]}
        {...lockedIf(locked("distributionListIds"))}
        onChange={(distributionListIds) => onChange({ distributionListIds })}
        nothingFoundMessage={t("search.none")}
      />
    </>
  );
}

/** Tone, recording, speech and confirmation request. */
export function SoundFields({
  message,
  template,
  locked,
  onChange,
}: DraftPartProps & { template: TemplateRow | null }) {
  const { t } = useTranslation();
  const confirmations = useRows<ConfirmationRequestRow>("confirmation-requests", {}, ALL);
  return (
    <>
      <div className="row end">
        <Select
          className="grow"
          label={t("field.alertTone")}
          searchable
          allowDeselect={false}
          data={[...ALERT_TONE_NAMES]}
          value={message.alertTone}
          {...lockedIf(locked("alertTone"))}
          onChange={(alertTone) => onChange({ alertTone: alertTone ?? "default" })}
        />
        <ToneButton tone={message.alertTone} />
      </div>
      {template === null && message.audio === null && <Speech message={message} onChange={onChange} />}
      <RecordingField
        key={message.templateId}
        value={recordingOf(message)}
        coming={message.audio === "coming"}
        hint={recordingHint(template, locked("audio"), t)}
        disabled={locked("audio")}
        onChange={(audio) => onChange({ audio })}
      />
      <Select
        label={t("field.confirmationRequestId")}
        clearable
        data={optionsOf(confirmations.data?.data)}
        value={message.confirmationRequestId}
        {...lockedIf(template !== null)}
        onChange={(confirmationRequestId) => onChange({ confirmationRequestId })}
      />
    </>
  );
}

/** Prepared all-clear. */
export function AllClearFields({ message, onChange }: Pick<DraftPartProps, "message" | "onChange">) {
  const { t } = useTranslation();
  return (
    <details>
      <summary>{t("all-clear.ready")}</summary>
      <TextInput
        label={t("field.allClearSubject")}
        description={t("all-clear.hint")}
        maxLength={255}
        value={message.allClearSubject}
        onChange={(event) => onChange({ allClearSubject: event.currentTarget.value })}
      />
      <Textarea
        label={t("field.allClearBody")}
        autosize
        maxLength={10_000}
        value={message.allClearBody}
        onChange={(event) => onChange({ allClearBody: event.currentTarget.value })}
      />
    </details>
  );
}

/** What the appliance speaks, by ear before it is sent. */
function Speech({ message, onChange }: Pick<DraftPartProps, "message" | "onChange">) {
  const { t, name } = useTranslation();
  const spoken = useSpeechPreview();
  const { subject, body, ttsType } = message;
  return (
    <>
      <div className="row end">
        <Select
          className="grow"
          label={t("send.spoken")}
          allowDeselect={false}
          data={SPOKEN_PARTS.map((value) => ({ value, label: name("spoken", value) }))}
          value={ttsType}
          onChange={(value) => onChange({ ttsType: (value ?? "none") as SpokenPart })}
        />
        <Button
          variant="default"
          disabled={ttsType === "none" || subject.trim() === ""}
          loading={spoken.isPending}
          onClick={spoken.isPlaying ? spoken.stop : () => spoken.speak({ ttsType, subject, body })}
        >
          {spoken.isPlaying ? t("speech.stop") : t("speech.listen")}
        </Button>
      </div>
      <ErrorLine error={spoken.error} />
    </>
  );
}

function recordingHint(
  template: TemplateRow | null,
  locked: boolean,
  t: ReturnType<typeof useTranslation>["t"],
): string {
  if (template && template.audio > 0) return t("send.audio-of-template");
  return locked ? t("send.recording-kept") : t("send.audio-hint");
}

/** How a field looks and behaves that belongs to the template. */
export function lockedIf(kept: boolean) {
  return kept ? { readOnly: true, variant: "filled" } : {};
}

function optionsOf(rows: readonly { id: string; name: string }[] | undefined) {
  return (rows ?? []).map(({ id, name }) => ({ value: id, label: name }));
}
