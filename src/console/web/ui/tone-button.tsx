import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { routeUrl } from "../api/routes.ts";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";

/** Plays an alert tone in the browser, as devices play it. */
export function ToneButton({ tone }: { tone: string }) {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const player = useRef<HTMLAudioElement | null>(null);
  const [playing, setPlaying] = useState(false);
  const stop = () => {
    player.current?.pause();
    player.current = null;
    setPlaying(false);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tone ends this one
  useEffect(() => stop, [tone]);
  const play = () => {
    const audio = new Audio(routeUrl("alert-tones/{alertTone}/audio", { alertTone: tone }));
    player.current = audio;
    setPlaying(true);
    audio.onended = stop;
    audio.play().catch(() => {
      if (player.current !== audio) return;
      stop();
      notify(t("error.unreachable"));
    });
  };
  return (
    <Button variant="default" disabled={tone === "silent"} onClick={playing ? stop : play}>
      {playing ? t("tone.stop") : t("tone.listen")}
    </Button>
  );
}
