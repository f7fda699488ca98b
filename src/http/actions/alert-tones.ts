import { notFound } from "../../lib/errors.ts";
import { ALERT_TONE_NAMES } from "../../resources/messages/alert-tones.ts";
import type { Action } from "../action.ts";
import { wavResponse } from "./notification-audio.ts";

/** Preview audio of alert tones, available to every authenticated user. */
export const alertToneActions: readonly Action[] = [
  {
    method: "get",
    at: "alert-tones/{alertTone}/audio",
    doc: "Returns an alert tone as WAV audio.",
    response: { kind: "bytes", types: ["audio/wav"] },
    permission: "anyone",
    async handle({ deps, params: { alertTone: name = "" } }) {
      if (!ALERT_TONE_NAMES.some((each) => each === name)) throw notFound();
      return wavResponse(await deps.notificationService.toneAudio(name), `${name}.wav`);
    },
  },
];
