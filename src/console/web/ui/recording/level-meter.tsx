import { useTranslation } from "../../i18n/use-translation.tsx";
import { meterLevel } from "./waveform.ts";
import "./recording.css";

/** How loud the microphone hears at this moment, and whether it was too loud. */
export function LevelMeter({ peak, clipped }: { peak: number; clipped: boolean }) {
  const { t } = useTranslation();
  const percent = Math.round(100 * meterLevel(peak));
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers colour their own element each in its way */}
      <div
        className="meter"
        role="meter"
        aria-label={t("recording.level")}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <span className={clipped ? "loud" : ""} style={{ width: `${percent}%` }} />
      </div>
      <p className={clipped ? "warn-line" : "soft"} role="status">
        {clipped ? t("recording.clipping") : t("recording.speak")}
      </p>
    </>
  );
}
