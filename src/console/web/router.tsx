/** The pages of the console by address. A new console page is added here, to ui/page-help.ts and to the tabs of its section. */

import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  type RouteComponent,
  useLocation,
} from "@tanstack/react-router";
import { Suspense } from "react";
import DashboardPage from "./features/dashboard/dashboard-page.tsx";
import { AppFrame } from "./frame/app-frame.tsx";
import { NotFoundPage, PageError } from "./frame/not-found-page.tsx";
import { FullCatalogue } from "./i18n/use-translation.tsx";
import { readTableSearch } from "./ui/list/table-search.ts";
import { PageLoading, PageQueriesProvider } from "./ui/page-status.tsx";

/** The console's addresses; every page but the first is loaded when it is opened. */
export function createConsoleRouter() {
  const root = createRootRoute({ component: Layout, notFoundComponent: NotFoundPage });
  const further = createRoute({ getParentRoute: () => root, id: "further", component: LazyPages });
  const at = <P extends string>(path: P, component: RouteComponent) =>
    createRoute({ getParentRoute: () => further, path, component, validateSearch: readTableSearch });
  const furtherTree = further.addChildren([
    at(
      "/send",
      lazyRouteComponent(() => import("./features/notifications/compose-page.tsx")),
    ),
    at(
      "/speak",
      lazyRouteComponent(() => import("./features/live-page/speak-page.tsx")),
    ),
    at(
      "/templates",
      lazyRouteComponent(() => import("./features/notifications/templates-page.tsx")),
    ),
    at(
      "/confirmation-requests",
      lazyRouteComponent(() => import("./features/notifications/confirmation-requests-page.tsx")),
    ),
    at(
      "/scenarios",
      lazyRouteComponent(() => import("./features/scenarios/scenarios-page.tsx")),
    ),
    at(
      "/scenarios/$scenarioId/start",
      lazyRouteComponent(() => import("./features/scenarios/scenario-start-page.tsx")),
    ),
    at(
      "/launch",
      lazyRouteComponent(() => import("./features/scenarios/launch-page.tsx")),
    ),
    at(
      "/incident-plans",
      lazyRouteComponent(() => import("./features/incidents/incident-plans-page.tsx")),
    ),
    at(
      "/incidents",
      lazyRouteComponent(() => import("./features/incidents/incidents-page.tsx")),
    ),
    at(
      "/incidents/$incidentId",
      lazyRouteComponent(() => import("./features/incidents/incident-page.tsx")),
    ),
    at(
      "/bulk-uploads",
      lazyRouteComponent(() => import("./features/uploads/bulk-uploads-page.tsx")),
    ),
    at(
      "/load-definitions",
      lazyRouteComponent(() => import("./features/uploads/load-definitions-page.tsx")),
    ),
    at(
      "/broadcasts",
      lazyRouteComponent(() => import("./features/notifications/notifications-page.tsx")),
    ),
    at(
      "/broadcasts/$notificationId",
      lazyRouteComponent(() => import("./features/notifications/notification-page.tsx")),
    ),
    at(
      "/broadcasts/$notificationId/roll-call",
      lazyRouteComponent(() => import("./features/notifications/roll-call-page.tsx")),
    ),
    at(
      "/broadcasts/$notificationId/rooms",
      lazyRouteComponent(() => import("./features/notifications/deliveries-by-room-page.tsx")),
    ),
    at(
      "/devices",
      lazyRouteComponent(() => import("./features/devices/devices-page.tsx")),
    ),
    at(
      "/device-groups",
      lazyRouteComponent(() => import("./features/devices/device-groups-page.tsx")),
    ),
    at(
      "/activation-groups",
      lazyRouteComponent(() => import("./features/devices/activation-groups-page.tsx")),
    ),
    at(
      "/clusters",
      lazyRouteComponent(() => import("./features/call-managers/clusters-page.tsx")),
    ),
    at(
      "/system-health",
      lazyRouteComponent(() => import("./features/system/health-page.tsx")),
    ),
    at(
      "/time-zone-data",
      lazyRouteComponent(() => import("./features/system/time-zone-data-page.tsx")),
    ),
    at(
      "/backups",
      lazyRouteComponent(() => import("./features/system/backups-page.tsx")),
    ),
    at(
      "/cloud",
      lazyRouteComponent(() => import("./features/cloud/cloud-page.tsx")),
    ),
    at(
      "/link-conflicts",
      lazyRouteComponent(() => import("./features/cloud/sync-conflicts-page.tsx")),
    ),
    at(
      "/appliances",
      lazyRouteComponent(() => import("./features/cloud/appliances-page.tsx")),
    ),
    at(
      "/activities",
      lazyRouteComponent(() => import("./features/cloud/commands-page.tsx")),
    ),
    at(
      "/settings",
      lazyRouteComponent(() => import("./features/system/settings-page.tsx")),
    ),
    at(
      "/profiles",
      lazyRouteComponent(() => import("./features/notifications/profiles-page.tsx")),
    ),
    at(
      "/speech",
      lazyRouteComponent(() => import("./features/speech/speech-page.tsx")),
    ),
    at(
      "/chat-groups",
      lazyRouteComponent(() => import("./features/people/chat-groups-page.tsx")),
    ),
    at(
      "/inputs",
      lazyRouteComponent(() => import("./features/devices/inputs-page.tsx")),
    ),
    at(
      "/dialing",
      lazyRouteComponent(() => import("./features/devices/dialing-page.tsx")),
    ),
    at(
      "/places",
      lazyRouteComponent(() => import("./features/places/places-page.tsx")),
    ),
    at(
      "/site-roles",
      lazyRouteComponent(() => import("./features/places/site-roles-page.tsx")),
    ),
    at(
      "/areas",
      lazyRouteComponent(() => import("./features/areas/areas-page.tsx")),
    ),
    at(
      "/branding",
      lazyRouteComponent(() => import("./features/branding/branding-page.tsx")),
    ),
    at(
      "/bells",
      lazyRouteComponent(() => import("./features/bells/bells-page.tsx")),
    ),
    at(
      "/bell-print",
      lazyRouteComponent(() => import("./features/bells/bell-print-page.tsx")),
    ),
    at(
      "/bell-schedules",
      lazyRouteComponent(() => import("./features/bells/bell-schedules-page.tsx")),
    ),
    at(
      "/ring-lists",
      lazyRouteComponent(() => import("./features/bells/ring-lists-page.tsx")),
    ),
    at(
      "/subscribed-calendars",
      lazyRouteComponent(() => import("./features/bells/subscribed-calendars-page.tsx")),
    ),
    at(
      "/scheduled-messages",
      lazyRouteComponent(() => import("./features/notifications/scheduled-notifications-page.tsx")),
    ),
    at(
      "/clearings",
      lazyRouteComponent(() => import("./features/notifications/screen-clearing-page.tsx")),
    ),
    at(
      "/people",
      lazyRouteComponent(() => import("./features/people/people-page.tsx")),
    ),
    at(
      "/lists",
      lazyRouteComponent(() => import("./features/people/lists-page.tsx")),
    ),
    at(
      "/security-groups",
      lazyRouteComponent(() => import("./features/security/security-groups-page.tsx")),
    ),
    at(
      "/directory-groups",
      lazyRouteComponent(() => import("./features/security/directory-groups-page.tsx")),
    ),
    at(
      "/identity-providers",
      lazyRouteComponent(() => import("./features/security/identity-providers-page.tsx")),
    ),
    at(
      "/provisioning",
      lazyRouteComponent(() => import("./features/security/provisioning-page.tsx")),
    ),
    at(
      "/domains",
      lazyRouteComponent(() => import("./features/security/domains-page.tsx")),
    ),
    at(
      "/rights",
      lazyRouteComponent(() => import("./features/security/access-check-page.tsx")),
    ),
    at(
      "/audit",
      lazyRouteComponent(() => import("./features/security/audit-page.tsx")),
    ),
    at(
      "/applications",
      lazyRouteComponent(() => import("./features/security/applications-page.tsx")),
    ),
    at(
      "/webhooks",
      lazyRouteComponent(() => import("./features/webhooks/webhooks-page.tsx")),
    ),
    at(
      "/alarms",
      lazyRouteComponent(() => import("./features/alarms/alarms-page.tsx")),
    ),
    at(
      "/system",
      lazyRouteComponent(() => import("./features/system/system-page.tsx")),
    ),
    at(
      "/welcome",
      lazyRouteComponent(() => import("./features/onboarding/onboarding-page.tsx")),
    ),
  ]);
  const now = createRoute({ getParentRoute: () => root, path: "/", component: DashboardPage });
  const tree = root.addChildren([now, furtherTree]);
  return createRouter({ routeTree: tree, defaultPreload: "intent", defaultErrorComponent: PageError });
}

/** The page of a wall tablet has no frame; every other page has one. */
function Layout() {
  const { pathname } = useLocation();
  if (pathname !== "/launch") return <AppFrame />;
  return (
    <PageQueriesProvider>
      <Suspense>
        <Outlet />
      </Suspense>
    </PageQueriesProvider>
  );
}

/** Every page but the first needs words that the first page does without. */
function LazyPages() {
  return (
    <FullCatalogue fallback={<PageLoading />}>
      <Outlet />
    </FullCatalogue>
  );
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
