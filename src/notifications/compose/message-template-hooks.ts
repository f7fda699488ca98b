import { inspectRecording } from "../../media/recording-inspection.ts";
import type messageTemplates from "../../resources/messages/message-templates.ts";
import { UploadedFile } from "../../schema/uploaded-file.ts";
import type { FileStore, ResourceHooks, StoreReader } from "../../store/store.ts";
import { requireValidSsml, type TemplateRow } from "./message-builder.ts";

/**
 * Refuses a recording that can't be played, before it is stored with a row. Throws CallerError (`audio`).
 * For the `prepare` of every behaviour whose resource has a recording.
 */
export async function requirePlayable(input: Readonly<Record<string, unknown>>, files: FileStore): Promise<void> {
  if (input.audio instanceof UploadedFile) inspectRecording(await files.read(input.audio.file));
}

/**
 * Templates take only recordings that can be played, and show what follows from their parts.
 * `files` is called once the store is open.
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

/** What `inferredMessageType` can be. */
export const INFERRED_MESSAGE_TYPES = [
  ...["Text", "Audio", "TextAndAudio", "TextImage", "AudioImage", "TextAndAudioImage"],
] as const;

/** Internal keys of the templates of a type; of at most 3500 rows without their words. */
export function findTemplatesByType(reader: StoreReader, type: string): number[] {
  const lines = reader.all<Parameters<typeof inferredMessageType>[0] & { pk: number }>(
    `SELECT pk, subject <> '' AS subject, body <> '' AS body, audio IS NOT NULL AS audio, image IS NOT NULL AS image,
       tts_type AS ttsType, alert_tone AS alertTone FROM message_templates`,
  );
  return lines.filter((line) => inferredMessageType(line) === type).map(({ pk }) => pk);
}

/** Internal keys of the templates that name a group of appliances' devices, or of all others. */
export function findTemplatesByDeviceGroups(reader: StoreReader, named: boolean): number[] {
  const lines = reader.all<{ pk: number }>(
    `SELECT pk FROM message_templates t
     WHERE ${named ? "" : "NOT "}EXISTS (SELECT 1 FROM message_templates__device_group_ids l WHERE l.owner = t.pk)`,
  );
  return lines.map(({ pk }) => pk);
}

/**
 * Text, Audio or TextAndAudio, with Image appended. own choice: the `default` tone, which every message opens with, does
 * not make a message of words one of sound; a tone that was chosen does.
 * @source decisions.md 8
 */
function inferredMessageType(
  message: Record<"subject" | "body" | "audio" | "image", unknown> & Pick<TemplateRow, "ttsType" | "alertTone">,
): string {
  const text = Boolean(message.subject) || Boolean(message.body);
  const chosenTone = message.alertTone !== "default" && message.alertTone !== "silent";
  const audio = Boolean(message.audio) || message.ttsType !== "none" || chosenTone;
  const words = !audio ? "Text" : text ? "TextAndAudio" : "Audio";
  return message.image ? `${words}Image` : words;
}
