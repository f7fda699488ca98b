import { useEffect, useRef, useState } from "react";
import { useConsole } from "../../console-context.tsx";
import { MicrophoneError, type MicrophoneErrorKey } from "../../ui/recording/microphone.ts";
import { CLIPPED_FROM } from "../../ui/recording/waveform.ts";
import { type LivePage, type LivePageEnd, startLivePage } from "./live-page.ts";

/** State of a live page. */
export type LivePageState =
  | { state: "rest" }
  | { state: "asking" }
  | { state: "calling" }
  | { state: "tone" }
  | { state: "on-air"; since: number }
  | { state: "over"; reason: LivePageEnd; notificationId: string | null }
  | { state: "failed"; fault: MicrophoneErrorKey | null; error: unknown };

/** The voice at this moment. */
export interface Voice {
  peak: number;
  /** It was too loud on this page. */
  clipped: boolean;
}

const SILENT: Voice = { peak: 0, clipped: false };

/** One live page at a time; leaving the console's page ends it. */
export function useLivePage() {
  const { clock, acting } = useConsole();
  const [speaking, setSpeaking] = useState<LivePageState>({ state: "rest" });
  const [voice, setVoice] = useState(SILENT);
  const page = useRef<LivePage | null>(null);
  const tone = useRef<{ cancel(): void } | null>(null);
  const gone = useRef(false);
  useEffect(
    () => () => {
      gone.current = true;
      tone.current?.cancel();
      page.current?.cancel();
    },
    [],
  );
  const show = (next: LivePageState) => {
    tone.current?.cancel();
    setSpeaking(next);
  };
  const start = async (notification: object) => {
    let id: string | null = null;
    setVoice(SILENT);
    show({ state: "asking" });
    try {
      page.current = await startLivePage(notification, acting.domainId, {
        onCalling(notificationId) {
          id = notificationId;
          show({ state: "calling" });
        },
        onSpeak(inMs) {
          show({ state: "tone" });
          tone.current = clock.after(inMs, () => setSpeaking({ state: "on-air", since: clock.now() }));
        },
        onLevel: (peak) => setVoice((old) => ({ peak, clipped: old.clipped || peak >= CLIPPED_FROM })),
        onOver: (reason) => show({ state: "over", reason, notificationId: id }),
        onRefused: (error) => show({ state: "failed", fault: null, error }),
      });
      if (gone.current) page.current.cancel();
    } catch (error) {
      show({ state: "failed", fault: error instanceof MicrophoneError ? error.fault : "busy", error });
    }
  };
  return {
    speaking,
    voice,
    start: (notification: object) => void start(notification),
    finish: () => page.current?.finish(),
  };
}
