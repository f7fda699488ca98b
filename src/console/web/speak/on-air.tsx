import { useNow } from "../console-context.tsx";
import { LevelBar } from "../recording/level-bar.tsx";
import { elapsedText } from "../words/format.ts";
import { useWords } from "../words/use-words.tsx";
import type { Speaking, Voice } from "./use-live-page.ts";
import "../parts/lines.css";
import "./speak.css";

interface OnAirProps {
  speaking: Speaking;
  voice: Voice;
  drill: boolean;
  /** There is somebody to speak to. */
  isReady: boolean;
  onStart(): void;
  onFinish(): void;
}

/** The one button of who speaks: begins, says when one is heard, and ends; Escape ends too. */
export function OnAir({ speaking, voice, drill, isReady, onStart, onFinish }: OnAirProps) {
  const { t } = useWords();
  const { state } = speaking;
  const isOpen = state === "asking" || state === "calling" || state === "tone" || state === "on-air";
  return (
    <>
      <button
        type="button"
        className={drill ? "talk drill" : "talk"}
        data-state={isOpen ? state : "rest"}
        // What is disabled loses the focus, and with it the keys that end the page.
        aria-disabled={state === "asking"}
        disabled={!isOpen && !isReady}
        aria-pressed={isOpen}
        onClick={isOpen ? onFinish : onStart}
        onKeyDown={(event) => isOpen && event.key === "Escape" && onFinish()}
      >
        <strong>{t(isOpen ? `speak.${state}` : drill ? "speak.start-drill" : "speak.start")}</strong>
        {state === "on-air" && <Elapsed since={speaking.since} />}
        {isOpen && <small>{t("speak.end")}</small>}
      </button>
      <p className="visually-hidden" role="alert">
        {isOpen && state !== "asking" ? t(`speak.${state}`) : ""}
      </p>
      {isOpen ? <LevelBar {...voice} /> : <p className="soft">{t(isReady ? "speak.hint" : "speak.missing")}</p>}
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
