import { Link } from "@tanstack/react-router";
import { useCloudLink } from "../api/use-rows.ts";
import type { MessageKey } from "../i18n/message-keys.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** The rooms of a place in the rail. */
export const SECTION_TABS = {
  send: [
    { to: "/send", word: "send.title" },
    { to: "/speak", word: "live-page.title" },
    { to: "/scenarios", word: "scenarios.title" },
    { to: "/templates", word: "templates.title" },
    { to: "/incident-plans", word: "incident-plans.title" },
    { to: "/confirmation-requests", word: "confirmations.title" },
    { to: "/profiles", word: "profiles.title" },
    { to: "/speech", word: "speech.title" },
  ],
  bells: [
    { to: "/bells", word: "bells.title" },
    { to: "/bell-schedules", word: "schedules.title" },
    { to: "/ring-lists", word: "ring-lists.title" },
    { to: "/subscribed-calendars", word: "subscribed.title" },
    { to: "/scheduled-messages", word: "scheduled.title" },
    { to: "/clearings", word: "screen-clearing.title" },
    { to: "/bell-print", word: "print.title" },
  ],
  people: [
    { to: "/people", word: "users.title" },
    { to: "/lists", word: "lists.title" },
    { to: "/security-groups", word: "security.title" },
    { to: "/directory-groups", word: "directory.title" },
    { to: "/provisioning", word: "provisioning.title" },
    { to: "/identity-providers", word: "provider.title" },
    { to: "/chat-groups", word: "chat-groups.title" },
    { to: "/domains", word: "domain.title" },
    { to: "/rights", word: "access.title" },
  ],
  history: [
    { to: "/broadcasts", word: "notifications.title" },
    { to: "/incidents", word: "incidents.title" },
    { to: "/audit", word: "audit.title" },
    { to: "/activities", word: "log.title" },
  ],
  system: [
    { to: "/system", word: "system.overview" },
    { to: "/system-health", word: "health-chart.title" },
    { to: "/alarms", word: "alarm.title" },
    { to: "/appliances", word: "appliances.title", atHub: true },
    { to: "/cloud", word: "cloud.title" },
    { to: "/link-conflicts", word: "conflict.title" },
    { to: "/backups", word: "backup.title" },
    { to: "/settings", word: "settings.title" },
    { to: "/time-zone-data", word: "zone-data.title" },
    { to: "/branding", word: "branding.title" },
    { to: "/bulk-uploads", word: "upload.title" },
    { to: "/load-definitions", word: "load.title" },
    { to: "/applications", word: "application.title" },
    { to: "/webhooks", word: "webhook.title" },
  ],
  devices: [
    { to: "/devices", word: "devices.title" },
    { to: "/device-groups", word: "groups.title" },
    { to: "/activation-groups", word: "activation.title" },
    { to: "/clusters", word: "cluster.title" },
    { to: "/inputs", word: "inputs.title" },
    { to: "/dialing", word: "dialing.title" },
    { to: "/places", word: "places.title" },
    { to: "/site-roles", word: "site-roles.title" },
    { to: "/areas", word: "areas.title" },
  ],
} as const satisfies Record<string, readonly { to: string; word: MessageKey; atHub?: true }[]>;

/** Links to the rooms of a place; some there are only at the cloud of an organisation. */
export function SectionTabs({ of }: { of: keyof typeof SECTION_TABS }) {
  const { t } = useTranslation();
  const isHub = useCloudLink()?.role === "hub";
  return (
    <nav className="tabs" aria-label={t("tabs.label")} ref={showCurrent}>
      {SECTION_TABS[of]
        .filter((tab) => isHub || !("atHub" in tab))
        .map(({ to, word }) => (
          <Link key={to} to={to} activeProps={{ "data-on": "true" }}>
            {t(word)}
          </Link>
        ))}
    </nav>
  );
}

/** On a phone they are one line that is pushed aside. */
function showCurrent(tabs: HTMLElement | null): void {
  const current = tabs?.querySelector<HTMLElement>("[data-on]");
  if (tabs && current) tabs.scrollLeft = current.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
}
