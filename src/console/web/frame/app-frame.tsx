import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { useConsole } from "../console-context.tsx";
import { useWords } from "../i18n/use-translation.tsx";
import { PageNotes, PageRights, PageToCome, WithReadings } from "../ui/page-status.tsx";
import { Strips } from "./active-notification-strips.tsx";
import { isAt, PLACES, Rail } from "./navigation.tsx";
import { TopBar } from "./top-bar.tsx";
import { useHotkey } from "./use-hotkey.ts";

const SearchSheet = lazy(() => import("./search-dialog.tsx"));

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
      <Strips />
      <main id="main" tabIndex={-1} className={feed.live ? "main" : "main stale"}>
        <WithReadings>
          <PageNotes />
          <Suspense fallback={<PageToCome />}>
            <Outlet />
          </Suspense>
          <PageRights />
        </WithReadings>
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
