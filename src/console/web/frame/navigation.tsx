import { Link, useLocation } from "@tanstack/react-router";
import { Brand } from "../features/branding/branding.tsx";
import type { MessageKey } from "../i18n/message-keys.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** Items of the main navigation; `also` lists addresses of the same section. */
export const NAVIGATION = [
  { to: "/", word: "nav.now", icon: "M4 12l8-8 8 8v8h-5v-5h-6v5H4z", also: [] },
  {
    to: "/send",
    word: "nav.send",
    icon: "M3 10v4h4l6 5V5L7 10zM16 9a4 4 0 010 6M18.500 6.500a8 8 0 010 11",
    also: ["/speak", "/scenarios", "/templates", "/incident-plans", "/confirmation-requests", "/profiles", "/speech"],
  },
  {
    to: "/bells",
    word: "nav.bells",
    icon: "M6 17h12l-1.500-3V10a4.500 4.500 0 00-9 0v4zM10 20h4M12 3v2.500",
    also: [
      "/bell-schedules",
      "/ring-lists",
      "/subscribed-calendars",
      "/scheduled-messages",
      "/clearings",
      "/bell-print",
    ],
  },
  {
    to: "/people",
    word: "nav.people",
    icon: "M12 12a4 4 0 100-8 4 4 0 000 8zM4 21a8 8 0 0116 0",
    also: [
      "/lists",
      "/security-groups",
      "/directory-groups",
      "/provisioning",
      "/identity-providers",
      "/chat-groups",
      "/domains",
      "/rights",
    ],
  },
  {
    to: "/devices",
    word: "nav.devices",
    icon: "M6 3h12v18H6zM9 6h6v6H9zM9 15h1M12 15h1M15 15h0M9 18h1M12 18h1",
    also: [
      "/device-groups",
      "/activation-groups",
      "/clusters",
      "/inputs",
      "/dialing",
      "/places",
      "/site-roles",
      "/areas",
      "/welcome",
    ],
  },
  {
    to: "/broadcasts",
    word: "nav.history",
    icon: "M12 4a8 8 0 11-7.500 5M4 4v5h5M12 8v5l3 2",
    also: ["/incidents", "/audit", "/activities"],
  },
  {
    to: "/system",
    word: "nav.system",
    icon: "M4 6h10M18 6h2M4 12h2M10 12h10M4 18h8M16 18h4M16 4v4M8 10v4M14 16v4",
    also: [
      "/alarms",
      "/cloud",
      "/link-conflicts",
      "/appliances",
      "/backups",
      "/settings",
      "/time-zone-data",
      "/branding",
      "/bulk-uploads",
      "/load-definitions",
      "/applications",
      "/webhooks",
    ],
  },
] as const satisfies readonly { to: string; word: MessageKey; icon: string; also: readonly string[] }[];

/** True when an address belongs to a place. */
export function isActiveItem({ to, also }: { to: string; also: readonly string[] }, pathname: string): boolean {
  return to === "/" ? pathname === "/" : [to, ...also].some((each) => pathname.startsWith(each));
}

/** The rail: where one can go, and where one is. */
export function Navigation() {
  const { t } = useTranslation();
  const { pathname } = useLocation();
  return (
    <nav className="rail" aria-label={t("nav.label")}>
      <Brand />
      {NAVIGATION.map(({ to, word, icon, also }) => {
        const on = isActiveItem({ to, also }, pathname);
        return (
          <Link key={to} to={to} data-on={on} {...(on ? { "aria-current": "page" as const } : {})}>
            <svg width="24" height="24" viewBox="0 0 24 24" aria-hidden="true">
              <path
                d={icon}
                fill="none"
                stroke="currentColor"
                strokeWidth="1.8"
                strokeLinejoin="round"
                strokeLinecap="round"
              />
            </svg>
            {t(word)}
          </Link>
        );
      })}
    </nav>
  );
}
