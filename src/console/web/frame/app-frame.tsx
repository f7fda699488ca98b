import { Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { useConsole } from "../console-context.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { MissingPermissions, PageLoading, PageQueriesProvider, PageStatus } from "../ui/page-status.tsx";
import { ActiveNotificationStrips } from "./active-notification-strips.tsx";
import { isActiveItem, NAVIGATION, Navigation } from "./navigation.tsx";
import { TopBar } from "./top-bar.tsx";
import { useHotkey } from "./use-hotkey.ts";

const SearchDialog = lazy(() => import("./search-dialog.tsx"));

/** What surrounds every page: rail, top bar, what sounds, and whether the screen is live. */
export function AppFrame() {
  const { feed } = useConsole();
  const [searching, setSearching] = useState(false);
  const { t } = useTranslation();
  usePageTitle();
  useHotkey("k", () => setSearching(true));
  return (
    <div className="frame">
      <a className="skip" href="#main">
        {t("skip")}
      </a>
      <Navigation />
      <TopBar onSearch={() => setSearching(true)} />
      <ActiveNotificationStrips />
      <main id="main" tabIndex={-1} className={feed.live ? "main" : "main stale"}>
        <PageQueriesProvider>
          <PageStatus />
          <Suspense fallback={<PageLoading />}>
            <Outlet />
          </Suspense>
          <MissingPermissions />
        </PageQueriesProvider>
      </main>
      <Suspense>{searching && <SearchDialog onClose={() => setSearching(false)} />}</Suspense>
    </div>
  );
}

/** The window's title names the place, which is what a screen reader says first. */
function usePageTitle(): void {
  const { pathname } = useLocation();
  const { t } = useTranslation();
  const place = NAVIGATION.find((each) => isActiveItem(each, pathname));
  const title = place ? `${t(place.word)} · ${t("brand")}` : t("brand");
  useEffect(() => {
    document.title = title;
  }, [title]);
}
