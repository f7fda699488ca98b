import { forbidden, invalidValue, notFound } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import notifications from "../../resources/notifications/notifications.ts";
import { option } from "../../schema/field.ts";
import { type Action, requireVisibleRow } from "../action.ts";
import { fileQuery, requestedFileResponse } from "../file-response.ts";
import { textParameter } from "../query/query.ts";

/**
 * The recording of a notification, or with `form=programme` the complete audio program: tone, recording, repetitions.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0019-simulator.md
 */
export const notificationAudioActions: readonly Action[] = [
  {
    method: "get",
    at: "notifications/{notificationId}/audio",
    doc: "Returns the recording of a notification, or everything that is played.",
    query: {
      form: option("Recording, or the complete audio program.", ["recording", "programme"], { default: "recording" }),
      ...fileQuery(notifications.fields.audio),
    },
    response: { kind: "bytes", types: ["audio/wav"] },
    // Part of the row, like the content of every file field.
    permission: "anyone",
    async handle(request) {
      const { deps, by, query } = request;
      const row = requireVisibleRow(request, notifications, request.params.notificationId ?? "");
      if (!by.scope.allows("get", `/notifications/${row.id}`)) throw forbidden();
      const form = textParameter(query, "form") ?? "recording";
      if (form === "programme")
        return wavResponse(await deps.notificationService.getRenderedAudio(row.id), "programme.wav");
      if (form !== "recording") throw invalidValue("form", sentence("field.must-be-recording-or-programme"));
      if (!row.audio) throw notFound();
      return requestedFileResponse(row.audio, notifications.fields.audio, query, deps);
    },
  },
];

/** A WAV response. Throws not-found without audio. */
export function wavResponse(wav: Uint8Array | null, fileName: string): HttpResponse {
  if (!wav) throw notFound();
  const headers = { "Content-Length": String(wav.length), "Content-Disposition": `inline; filename=${fileName}` };
  return { type: "audio/wav", headers, body: wav };
}
