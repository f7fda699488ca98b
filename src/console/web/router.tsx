import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from "@tanstack/react-router";
import { Frame } from "./frame/frame.tsx";
import { LostPage, PageFault } from "./frame/lost-page.tsx";
import { readTableSearch } from "./list/table-search.ts";
import NowPage from "./pages/now.tsx";

/** The console's addresses; every page but the first is loaded when it is opened. */
export function createConsoleRouter() {
  const root = createRootRoute({ component: Frame, notFoundComponent: LostPage });
  const at = <P extends string>(path: P, component: RouteComponent) =>
    createRoute({ getParentRoute: () => root, path, component, validateSearch: readTableSearch });
  const tree = root.addChildren([
    createRoute({ getParentRoute: () => root, path: "/", component: NowPage }),
    at(
      "/send",
      lazyRouteComponent(() => import("./pages/send.tsx")),
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
      "/broadcasts",
      lazyRouteComponent(() => import("./pages/broadcasts.tsx")),
    ),
    at(
      "/broadcasts/$notificationId",
      lazyRouteComponent(() => import("./pages/broadcast.tsx")),
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
      "/system",
      lazyRouteComponent(() => import("./pages/system.tsx")),
    ),
    at(
      "/welcome",
      lazyRouteComponent(() => import("./pages/welcome.tsx")),
    ),
  ]);
  return createRouter({ routeTree: tree, defaultPreload: "intent", defaultErrorComponent: PageFault });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
