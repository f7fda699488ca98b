import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import type { SessionRow } from "../api/rows.ts";
import { siteClockOf } from "../api/site-clock.ts";
import { useAppliance, useCloudLink } from "../api/use-rows.ts";
import { useConsole, useNow } from "../console-context.tsx";
import { EmergencyButton } from "../features/emergency/emergency-button.tsx";
import { useTranslation } from "../i18n/use-translation.tsx";
import { Chip } from "../ui/status-chip.tsx";
import { ActingDomainBar } from "./acting-domain-bar.tsx";

const AccountSheet = lazy(() => import("../features/account/account-sheet.tsx"));

/** Health, time, search and account. */
export function TopBar({ onSearch }: { onSearch: () => void }) {
  const { t } = useTranslation();
  return (
    <header className="top">
      <EmergencyButton />
      <HealthLink />
      <CloudStatus />
      <ActingDomainBar />
      <span className="space" />
      <TimeOfDay />
      <Button
        variant="default"
        size="compact-sm"
        onClick={onSearch}
        aria-keyshortcuts="Control+K"
        title={t("search.keys")}
      >
        <svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true">
          <path
            d="M10.500 4a6.500 6.500 0 110 13a6.500 6.500 0 010-13M15.500 15.500L21 21"
            fill="none"
            stroke="currentColor"
            strokeWidth="2.2"
          />
        </svg>
        <span className="search-word">{t("search")}</span>
      </Button>
      <UserButton />
    </header>
  );
}

const TONES = { GREEN: "good", YELLOW: "warn", RED: "bad" } as const;

/** Overall health; links to its reasons. */
export function HealthLink() {
  const { name, t, say, loadComplete } = useTranslation();
  const appliance = useAppliance();
  const reasons = appliance?.reasonSentences ?? [];
  // The messages of the first page do not contain the server's sentences.
  useEffect(() => {
    if (reasons.length > 0) loadComplete();
  }, [reasons.length, loadComplete]);
  if (!appliance) return <span className="soft">{t("health.unknown")}</span>;
  return (
    <Link to="/system" title={reasons.map((each) => say(each.text, each)).join("\n") || t("health.fine")}>
      <Chip tone={TONES[appliance.status]}>{name("health", appliance.status)}</Chip>
    </Link>
  );
}

/** Said only where there is a cloud, and it is not reached: what is seen may be old. */
function CloudStatus() {
  const { t, say } = useTranslation();
  const link = useCloudLink();
  if (!link?.hub || link.state === "connected") return null;
  return (
    <Link to="/cloud" title={link.reason === null ? "" : say(link.reason, link.reasonSentence)}>
      <Chip tone="warn">{t("cloud.cut-off")}</Chip>
    </Link>
  );
}

/** The time at the site, its zone, and whether the appliance's clock can be trusted. */
function TimeOfDay() {
  const now = useNow();
  const { feed } = useConsole();
  const { language, t } = useTranslation();
  const site = useAppliance()?.clock;
  const { timeZone, localMsAt } = siteClockOf(site ?? null);
  const time = new Intl.DateTimeFormat(language, { timeStyle: "medium", timeZone: "UTC" }).format(localMsAt(now));
  const seconds = Math.max(0, Math.round((now - feed.since) / 1_000));
  return (
    <span className="clock">
      {time} {timeZone} <ClockTrust synchronised={site?.synchronised ?? null} />
      <span className="zone"> · {feed.live ? t("feed.live", { seconds }) : t("feed.not-live")}</span>
    </span>
  );
}

function ClockTrust({ synchronised }: { synchronised: boolean | null }) {
  const { t } = useTranslation();
  if (synchronised === null) return <span>{t("clock.unknown")}</span>;
  return synchronised ? (
    <span className="clock-good">✓ {t("clock.synchronised")}</span>
  ) : (
    <Link to="/system" className="chip warn">
      ! {t("clock.free")}
    </Link>
  );
}

function UserButton() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const { data: session } = useQuery<SessionRow | null>({ queryKey: ["session"], enabled: false });
  return (
    <>
      <Button variant="default" size="compact-sm" aria-label={t("user.menu")} onClick={() => setOpen(true)}>
        {initialsOf(session?.name ?? "")}
      </Button>
      <Suspense>{open && session && <AccountSheet session={session} onClose={() => setOpen(false)} />}</Suspense>
    </>
  );
}

function initialsOf(name: string): string {
  const parts = name.split(/\s+/).filter(Boolean);
  return parts.length === 0
    ? "–"
    : parts
        .map((part) => part.charAt(0).toUpperCase())
        .slice(0, 2)
        .join("");
}
