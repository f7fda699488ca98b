import { inspectRecording } from "../../media/recording-inspection.ts";
import type messageTemplates from "../../resources/messages/message-templates.ts";
import { UploadedFile } from "../../schema/uploaded-file.ts";
import type { FileStore, ResourceHooks, StoreReader } from "../../store/store.ts";
import { requireValidSsml, type TemplateRow } from "./message-builder.ts";

/**
 * Rejects a recording that cannot be played before it is stored with a row. Throws CallerError (`audio`). For the
 * `prepare` hook of every resource with a recording.
 */
export async function requirePlayable(input: Readonly<Record<string, unknown>>, files: FileStore): Promise<void> {
  if (input.audio instanceof UploadedFile) inspectRecording(await files.read(input.audio.file));
}

/**
 * Hooks of templates: accept playable recordings only, and show computed fields. `files` is called once the store is
 * open.
 */
export function messageTemplateHooks(files: () => FileStore): ResourceHooks<typeof messageTemplates> {
  return {
    prepare: (input) => requirePlayable(input, files()),
    beforeWrite({ after }) {
      if (after) requireValidSsml(after);
    },
    present: (rows) =>
      rows.map((row) => ({
        imageMimeType: row.image?.contentType ?? null,
        audioSize: row.audio?.size ?? 0,
        imageSize: row.image?.size ?? 0,
        audioHash: row.audio?.sha256 ?? null,
        imageHash: row.image?.sha256 ?? null,
        inferredMessageType: inferredMessageType(row),
      })),
  };
}

/** Values of `inferredMessageType`. */
export const INFERRED_MESSAGE_TYPES = [
  ...["Text", "Audio", "TextAndAudio", "TextImage", "AudioImage", "TextAndAudioImage"],
] as const;

/** Internal keys of the templates of a type; reads at most 3,500 rows without their texts. */
export function findTemplatesByType(reader: StoreReader, type: string): number[] {
  const lines = reader.all<Parameters<typeof inferredMessageType>[0] & { pk: number }>(
    `SELECT pk, subject <> '' AS subject, body <> '' AS body, audio IS NOT NULL AS audio, image IS NOT NULL AS image,
       tts_type AS ttsType, alert_tone AS alertTone FROM message_templates`,
  );
  return lines.filter((line) => inferredMessageType(line) === type).map(({ pk }) => pk);
}

/** Internal keys of the templates that name a device group, or of all others. */
export function findTemplatesByDeviceGroups(reader: StoreReader, named: boolean): number[] {
  const lines = reader.all<{ pk: number }>(
    `SELECT pk FROM message_templates t
     WHERE ${named ? "" : "NOT "}EXISTS (SELECT 1 FROM message_templates__device_group_ids l WHERE l.owner = t.pk)`,
  );
  return lines.map(({ pk }) => pk);
}

/**
 * Text, Audio or TextAndAudio, with Image appended. The `default` tone, which opens every message, does not make a text
 * message an audio message; any other tone does. @source docs/decisions/0008-notifications-and-templates.md, Template
 * fields
 */
function inferredMessageType(
  message: Record<"subject" | "body" | "audio" | "image", unknown> & Pick<TemplateRow, "ttsType" | "alertTone">,
): string {
  const text = Boolean(message.subject) || Boolean(message.body);
  const chosenTone = message.alertTone !== "default" && message.alertTone !== "silent";
  const audio = Boolean(message.audio) || message.ttsType !== "none" || chosenTone;
  const base = !audio ? "Text" : text ? "TextAndAudio" : "Audio";
  return message.image ? `${base}Image` : base;
}
