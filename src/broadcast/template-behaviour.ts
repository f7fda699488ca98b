import { toneSegments } from "../audio/tones.ts";
import { inspectWav } from "../audio/wav.ts";
import type messageTemplates from "../resources/messages/message-templates.ts";
import { UploadedFile } from "../schema/uploaded-file.ts";
import type { Behaviour, FileStore } from "../store/store.ts";
import type { TemplateRow } from "./compose.ts";

/**
 * Refuses a recording that can't be played, before it is stored with a row. Throws CallerError (`audio`).
 * For the `prepare` of every behaviour whose resource has a recording.
 */
export async function requirePlayable(input: Readonly<Record<string, unknown>>, files: FileStore): Promise<void> {
  if (input.audio instanceof UploadedFile) inspectWav(await files.read(input.audio.file));
}

/**
 * Templates take only tones that are made and recordings that can be played, and show what follows from their parts.
 * `files` is called once the store is open.
 */
export function templateBehaviour(files: () => FileStore): Behaviour<typeof messageTemplates> {
  return {
    prepare: (input) => requirePlayable(input, files()),
    beforeWrite({ before, after }) {
      if (after && after.alertTone !== before?.alertTone) toneSegments(after.alertTone);
    },
    present: (rows) =>
      rows.map((row) => ({
        imageMimeType: row.image?.contentType ?? null,
        audioSize: row.audio?.size ?? 0,
        imageSize: row.image?.size ?? 0,
        audioHash: row.audio?.sha256 ?? null,
        imageHash: row.image?.sha256 ?? null,
        inferredMessageType: inferredMessageType(row),
        syncId: null,
      })),
  };
}

/**
 * Text, Audio or TextAndAudio, with Image appended. own choice: the `default` tone, which every message opens with, does
 * not make a message of words one of sound; a tone that was chosen does.
 * @source decisions.md 8
 */
function inferredMessageType(
  message: Pick<TemplateRow, "subject" | "body" | "audio" | "image" | "ttsType" | "alertTone">,
): string {
  const text = Boolean(message.subject) || Boolean(message.body);
  const chosenTone = message.alertTone !== "default" && message.alertTone !== "silent";
  const audio = message.audio !== null || message.ttsType !== "none" || chosenTone;
  const words = !audio ? "Text" : text ? "TextAndAudio" : "Audio";
  return message.image === null ? words : `${words}Image`;
}
