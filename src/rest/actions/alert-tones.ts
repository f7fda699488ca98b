import { notFound } from "../../base/errors.ts";
import { ALERT_TONE_NAMES } from "../../resources/messages/alert-tones.ts";
import type { Action } from "../action.ts";
import { wavAnswer } from "./notification-audio.ts";

/** Alert tones by ear, as they are played. own choice: the path; every known user may listen. */
export const alertToneActions: readonly Action[] = [
  {
    method: "get",
    at: "alert-tones/{alertTone}/audio",
    doc: "An alert tone as it is played.",
    answers: { kind: "bytes", types: ["audio/wav"] },
    permission: "anyone",
    async handle({ needs, params: { alertTone: name = "" } }) {
      if (!ALERT_TONE_NAMES.some((each) => each === name)) throw notFound();
      return wavAnswer(await needs.broadcaster.toneAudio(name), `${name}.wav`);
    },
  },
];
