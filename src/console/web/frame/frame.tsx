import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { useSounding } from "../api/use-rows.ts";
import { useConsole, useNow } from "../console-context.tsx";
import { DrillChip } from "../parts/level-chip.tsx";
import { StopButton } from "../parts/stop-button.tsx";
import { elapsedText } from "../words/format.ts";
import { useWords } from "../words/use-words.tsx";
import { isAt, PLACES, Rail } from "./rail.tsx";
import { TopBar } from "./top-bar.tsx";
import { useHotkey } from "./use-hotkey.ts";

const SearchSheet = lazy(() => import("./search-sheet.tsx"));

/** What surrounds every page: rail, top bar, what sounds, and whether the screen is live. */
export function Frame() {
  const { feed } = useConsole();
  const [searching, setSearching] = useState(false);
  const { t } = useWords();
  usePageTitle();
  useHotkey("k", () => setSearching(true));
  return (
    <div className="frame">
      <a className="skip" href="#main">
        {t("skip")}
      </a>
      <Rail />
      <TopBar onSearch={() => setSearching(true)} />
      <div className="sound">
        {!feed.live && <CutStrip since={feed.since} />}
        <SoundingStrips />
      </div>
      <main id="main" tabIndex={-1} className={feed.live ? "main" : "main stale"}>
        <Suspense>
          <Outlet />
        </Suspense>
      </main>
      <Suspense>{searching && <SearchSheet onClose={() => setSearching(false)} />}</Suspense>
    </div>
  );
}

/** The window's title names the place, which is what a screen reader says first. */
function usePageTitle(): void {
  const { pathname } = useLocation();
  const { t } = useWords();
  const place = PLACES.find((each) => isAt(each, pathname));
  const title = place ? `${t(place.word)} · ${t("brand")}` : t("brand");
  useEffect(() => {
    document.title = title;
  }, [title]);
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
          <span className="wide">{row.deviceGroups.map(({ name }) => name).join(", ")}</span>
          <span className="space" />
          <span aria-hidden="true">{elapsedText(now - Date.parse(row.createdAt))}</span>
          <StopButton id={row.id} subject={row.subject ?? ""} />
        </div>
      ))}
    </section>
  );
}
