import { notFound } from "../../lib/errors.ts";
import { ALERT_TONE_NAMES } from "../../resources/messages/alert-tones.ts";
import type { Action } from "../action.ts";
import { wavResponse } from "./notification-audio.ts";

/** Alert tones by ear, as they are played. own choice: the path; every known user may listen. */
export const alertToneActions: readonly Action[] = [
  {
    method: "get",
    at: "alert-tones/{alertTone}/audio",
    doc: "An alert tone as it is played.",
    response: { kind: "bytes", types: ["audio/wav"] },
    permission: "anyone",
    async handle({ needs, params: { alertTone: name = "" } }) {
      if (!ALERT_TONE_NAMES.some((each) => each === name)) throw notFound();
      return wavResponse(await needs.notificationService.toneAudio(name), `${name}.wav`);
    },
  },
];
