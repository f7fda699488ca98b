import { soundingFor } from "../api/sounding.ts";
import { useSounding } from "../api/use-rows.ts";
import { useConsole, useNow } from "../console-context.tsx";
import { DrillChip } from "../parts/level-chip.tsx";
import { StopButton } from "../parts/stop-button.tsx";
import { elapsedText } from "../words/format.ts";
import { useWords } from "../words/use-words.tsx";
import { WaitingStrips } from "./waiting-strips.tsx";

/** Whether the screen is live, what waits for a second person, and what sounds: above every page. */
export function Strips() {
  const { feed } = useConsole();
  return (
    <div className="sound">
      {!feed.live && <CutStrip since={feed.since} />}
      <WaitingStrips />
      <SoundingStrips />
    </div>
  );
}

function CutStrip({ since }: { since: number }) {
  const now = useNow();
  const { t } = useWords();
  return (
    <div className="strip cut" role="alert">
      {t("feed.cut", { elapsed: elapsedText(now - since) })}
    </div>
  );
}

function SoundingStrips() {
  const sounding = useSounding();
  const now = useNow();
  const { t } = useWords();
  return (
    <section aria-live="polite" aria-label={t("sounding.title")}>
      {sounding.map((row) => (
        <div key={row.id} className={row.drill ? "strip sounding drill" : "strip sounding"}>
          <DrillChip drill={row.drill} />
          <strong>{row.subject}</strong>
          {row.initiationSourceType === "live-page" && (
            <span>{t("speak.by", { name: row.initiator?.name ?? "?" })}</span>
          )}
          <span className="wide">{row.deviceGroups.map(({ name }) => name).join(", ")}</span>
          <span className="space" />
          <span aria-hidden="true">{elapsedText(soundingFor(row, now))}</span>
          <StopButton id={row.id} subject={row.subject ?? ""} />
        </div>
      ))}
    </section>
  );
}
