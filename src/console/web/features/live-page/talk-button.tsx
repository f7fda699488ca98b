import { useEffect, useRef } from "react";
import { useNow } from "../../console-context.tsx";
import { elapsedText } from "../../i18n/format.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { HoldButton } from "../../ui/hold-button.tsx";
import { LevelMeter } from "../../ui/recording/level-meter.tsx";
import type { LivePageState, Voice } from "./use-live-page.ts";
import "../../ui/lines.css";
import "./live-page.css";

interface OnAirProps {
  speaking: LivePageState;
  voice: Voice;
  drill: boolean;
  /** There is somebody to speak to. */
  isReady: boolean;
  /** All devices would hear it: the button is held, as it is for a message to them all. */
  isHeld: boolean;
  onStart(): void;
  onFinish(): void;
}

/** Starts, shows and ends a live page; Escape ends it, too. */
export function TalkButton({ speaking, voice, drill, isReady, isHeld, onStart, onFinish }: OnAirProps) {
  const { t } = useTranslation();
  const { state } = speaking;
  const isOpen = state === "asking" || state === "calling" || state === "tone" || state === "on-air";
  const finish = useRef(onFinish);
  finish.current = onFinish;
  // A button that was held goes when the page opens, and the focus with it: Escape is heard wherever that is.
  useEffect(() => {
    if (!isOpen) return;
    const onKey = (event: KeyboardEvent) => event.key === "Escape" && finish.current();
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [isOpen]);
  if (isHeld && !isOpen) {
    return (
      <>
        <HoldButton className="send-live" disabled={!isReady} onHeld={onStart}>
          <strong>{t("live-page.start")}</strong>
        </HoldButton>
        <p className="soft">{t(isReady ? "live-page.hint" : "live-page.missing")}</p>
      </>
    );
  }
  return (
    <>
      <button
        type="button"
        className={drill ? "talk drill" : "talk"}
        data-state={isOpen ? state : "rest"}
        // A disabled button loses the focus.
        aria-disabled={state === "asking"}
        disabled={!isOpen && !isReady}
        aria-pressed={isOpen}
        onClick={isOpen ? onFinish : onStart}
      >
        <strong>{t(isOpen ? `live-page.${state}` : drill ? "live-page.start-drill" : "live-page.start")}</strong>
        {state === "on-air" && <Elapsed since={speaking.since} />}
        {isOpen && <small>{t("live-page.end")}</small>}
      </button>
      <p className="visually-hidden" role="alert">
        {isOpen && state !== "asking" ? t(`live-page.${state}`) : ""}
      </p>
      {isOpen ? (
        <LevelMeter {...voice} />
      ) : (
        <p className="soft">{t(isReady ? "live-page.hint" : "live-page.missing")}</p>
      )}
    </>
  );
}

function Elapsed({ since }: { since: number }) {
  return (
    <span className="clock" role="timer">
      {elapsedText(useNow() - since)}
    </span>
  );
}
