import { forbidden, invalidValue, notFound } from "../../base/errors.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import { option } from "../../schema/field.ts";
import { type Action, type Answer, visibleRow } from "../action.ts";
import { askedFile, fileQuery } from "../file-answer.ts";
import { singleText } from "../query.ts";

/**
 * The recording of a notification, or with `form=programme` all that is played: tone, recording, repetitions.
 * @source decisions.md 8; interfaces.md, Campus
 */
export const notificationAudioActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/audio",
    doc: "The recording of a notification, or all that is played.",
    query: {
      form: option("Which of them.", ["recording", "programme"], { default: "recording" }),
      ...fileQuery(notifications.fields.audio),
    },
    answers: { kind: "bytes", types: ["audio/wav"] },
    // Goes with the row, as the bytes of every file field do.
    permission: "anyone",
    async handle(request) {
      const { needs, by, query } = request;
      const row = visibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const form = singleText(query, "form") ?? "recording";
      if (form === "programme") return wavAnswer(await needs.broadcaster.programmeOf(row.id), "programme.wav");
      if (form !== "recording") throw invalidValue("form", "It is recording or programme.");
      if (!row.audio) throw notFound();
      return askedFile(row.audio, notifications.fields.audio, query, needs);
    },
  },
];

/** A WAV to be listened to. Throws not-found where nothing is audible. */
export function wavAnswer(wav: Uint8Array | null, fileName: string): Answer {
  if (!wav) throw notFound();
  const headers = { "Content-Length": String(wav.length), "Content-Disposition": `inline; filename=${fileName}` };
  return { type: "audio/wav", headers, body: wav };
}
