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
import { Frame } from "./frame/frame.tsx";
import { LostPage, PageFault } from "./frame/lost-page.tsx";
import { readTableSearch } from "./list/table-search.ts";
import NowPage from "./pages/now.tsx";
import { PageToCome, WithReadings } from "./parts/page-notes.tsx";
import { WithAllWords } from "./words/use-words.tsx";

/** The console's addresses; every page but the first is loaded when it is opened. */
export function createConsoleRouter() {
  const root = createRootRoute({ component: Surroundings, notFoundComponent: LostPage });
  const further = createRoute({ getParentRoute: () => root, id: "further", component: FurtherPages });
  const at = <P extends string>(path: P, component: RouteComponent) =>
    createRoute({ getParentRoute: () => further, path, component, validateSearch: readTableSearch });
  const furtherTree = further.addChildren([
    at(
      "/send",
      lazyRouteComponent(() => import("./pages/send.tsx")),
    ),
    at(
      "/speak",
      lazyRouteComponent(() => import("./pages/speak.tsx")),
    ),
    at(
      "/templates",
      lazyRouteComponent(() => import("./pages/templates.tsx")),
    ),
    at(
      "/confirmation-requests",
      lazyRouteComponent(() => import("./pages/confirmation-requests.tsx")),
    ),
    at(
      "/scenarios",
      lazyRouteComponent(() => import("./pages/scenarios.tsx")),
    ),
    at(
      "/scenarios/$scenarioId/start",
      lazyRouteComponent(() => import("./pages/scenario-start.tsx")),
    ),
    at(
      "/launch",
      lazyRouteComponent(() => import("./pages/launch.tsx")),
    ),
    at(
      "/incident-plans",
      lazyRouteComponent(() => import("./pages/incident-plans.tsx")),
    ),
    at(
      "/incidents",
      lazyRouteComponent(() => import("./pages/incidents.tsx")),
    ),
    at(
      "/incidents/$incidentId",
      lazyRouteComponent(() => import("./pages/incident.tsx")),
    ),
    at(
      "/bulk-uploads",
      lazyRouteComponent(() => import("./pages/bulk-uploads.tsx")),
    ),
    at(
      "/load-definitions",
      lazyRouteComponent(() => import("./pages/load-definitions.tsx")),
    ),
    at(
      "/broadcasts",
      lazyRouteComponent(() => import("./pages/broadcasts.tsx")),
    ),
    at(
      "/broadcasts/$notificationId",
      lazyRouteComponent(() => import("./pages/broadcast.tsx")),
    ),
    at(
      "/broadcasts/$notificationId/roll-call",
      lazyRouteComponent(() => import("./pages/roll-call.tsx")),
    ),
    at(
      "/broadcasts/$notificationId/rooms",
      lazyRouteComponent(() => import("./pages/broadcast-rooms.tsx")),
    ),
    at(
      "/devices",
      lazyRouteComponent(() => import("./pages/devices.tsx")),
    ),
    at(
      "/device-groups",
      lazyRouteComponent(() => import("./pages/device-groups.tsx")),
    ),
    at(
      "/activation-groups",
      lazyRouteComponent(() => import("./pages/activation-groups.tsx")),
    ),
    at(
      "/clusters",
      lazyRouteComponent(() => import("./pages/clusters.tsx")),
    ),
    at(
      "/system-health",
      lazyRouteComponent(() => import("./pages/health.tsx")),
    ),
    at(
      "/backups",
      lazyRouteComponent(() => import("./pages/backups.tsx")),
    ),
    at(
      "/cloud",
      lazyRouteComponent(() => import("./pages/cloud.tsx")),
    ),
    at(
      "/link-conflicts",
      lazyRouteComponent(() => import("./pages/link-conflicts.tsx")),
    ),
    at(
      "/appliances",
      lazyRouteComponent(() => import("./pages/appliances.tsx")),
    ),
    at(
      "/activities",
      lazyRouteComponent(() => import("./pages/activities.tsx")),
    ),
    at(
      "/settings",
      lazyRouteComponent(() => import("./pages/settings.tsx")),
    ),
    at(
      "/profiles",
      lazyRouteComponent(() => import("./pages/profiles.tsx")),
    ),
    at(
      "/speech",
      lazyRouteComponent(() => import("./pages/speech.tsx")),
    ),
    at(
      "/chat-groups",
      lazyRouteComponent(() => import("./pages/chat-groups.tsx")),
    ),
    at(
      "/inputs",
      lazyRouteComponent(() => import("./pages/inputs.tsx")),
    ),
    at(
      "/places",
      lazyRouteComponent(() => import("./pages/places.tsx")),
    ),
    at(
      "/site-roles",
      lazyRouteComponent(() => import("./pages/site-roles.tsx")),
    ),
    at(
      "/areas",
      lazyRouteComponent(() => import("./pages/areas.tsx")),
    ),
    at(
      "/look",
      lazyRouteComponent(() => import("./pages/look.tsx")),
    ),
    at(
      "/bells",
      lazyRouteComponent(() => import("./pages/bells.tsx")),
    ),
    at(
      "/bell-print",
      lazyRouteComponent(() => import("./pages/bell-print.tsx")),
    ),
    at(
      "/bell-schedules",
      lazyRouteComponent(() => import("./pages/bell-schedules.tsx")),
    ),
    at(
      "/ring-lists",
      lazyRouteComponent(() => import("./pages/ring-lists.tsx")),
    ),
    at(
      "/scheduled-messages",
      lazyRouteComponent(() => import("./pages/scheduled-messages.tsx")),
    ),
    at(
      "/clearings",
      lazyRouteComponent(() => import("./pages/clearings.tsx")),
    ),
    at(
      "/people",
      lazyRouteComponent(() => import("./pages/people.tsx")),
    ),
    at(
      "/lists",
      lazyRouteComponent(() => import("./pages/lists.tsx")),
    ),
    at(
      "/security-groups",
      lazyRouteComponent(() => import("./pages/security-groups.tsx")),
    ),
    at(
      "/directory-groups",
      lazyRouteComponent(() => import("./pages/directory-groups.tsx")),
    ),
    at(
      "/identity-providers",
      lazyRouteComponent(() => import("./pages/identity-providers.tsx")),
    ),
    at(
      "/provisioning",
      lazyRouteComponent(() => import("./pages/provisioning.tsx")),
    ),
    at(
      "/domains",
      lazyRouteComponent(() => import("./pages/domains.tsx")),
    ),
    at(
      "/rights",
      lazyRouteComponent(() => import("./pages/rights.tsx")),
    ),
    at(
      "/audit",
      lazyRouteComponent(() => import("./pages/audit.tsx")),
    ),
    at(
      "/applications",
      lazyRouteComponent(() => import("./pages/applications.tsx")),
    ),
    at(
      "/webhooks",
      lazyRouteComponent(() => import("./pages/webhooks.tsx")),
    ),
    at(
      "/alarms",
      lazyRouteComponent(() => import("./pages/alarms.tsx")),
    ),
    at(
      "/system",
      lazyRouteComponent(() => import("./pages/system.tsx")),
    ),
    at(
      "/welcome",
      lazyRouteComponent(() => import("./pages/welcome.tsx")),
    ),
  ]);
  const now = createRoute({ getParentRoute: () => root, path: "/", component: NowPage });
  const tree = root.addChildren([now, furtherTree]);
  return createRouter({ routeTree: tree, defaultPreload: "intent", defaultErrorComponent: PageFault });
}

/** The page of a wall tablet stands alone; the frame surrounds every other. */
function Surroundings() {
  const { pathname } = useLocation();
  if (pathname !== "/launch") return <Frame />;
  return (
    <WithReadings>
      <Suspense>
        <Outlet />
      </Suspense>
    </WithReadings>
  );
}

/** Every page but the first needs words that the first page does without. */
function FurtherPages() {
  return (
    <WithAllWords meanwhile={<PageToCome />}>
      <Outlet />
    </WithAllWords>
  );
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
