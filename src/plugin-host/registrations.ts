import type {
  AccountMessageHandler,
  DeliveryItem,
  DeviceFilterHandler,
  PluginContext,
  PluginEvents,
  PluginReportHandler,
  PluginRequestHandler,
  ProbeHandler,
  StopRequest,
} from "../plugin-api/index.ts";

type ChangeHandler = Parameters<PluginContext["resources"]["watch"]>[1];
type EventHandler = (payload: PluginEvents[keyof PluginEvents]) => void;

/** Handlers registered by a plugin. */
export interface Registrations {
  deliver: ((batch: DeliveryItem[]) => void) | null;
  stop: ((request: StopRequest) => void) | null;
  probe: ProbeHandler | null;
  filter: DeviceFilterHandler | null;
  hangUp: ((callId: string) => void) | null;
  accountMessage: AccountMessageHandler | null;
  /** By key. */
  reports: Map<string, PluginReportHandler>;
  routes: Map<string, PluginRequestHandler>;
  changeHandlers: { path: string; handler: ChangeHandler }[];
  eventHandlers: { name: keyof PluginEvents; handler: EventHandler }[];
  /** Undo functions for external effects, oldest first. */
  undo: (() => Promise<void> | void)[];
}

export function emptyRegistrations(): Registrations {
  return {
    ...{ deliver: null, stop: null, probe: null, filter: null, hangUp: null, accountMessage: null },
    ...{ reports: new Map(), routes: new Map() },
    ...{ changeHandlers: [], eventHandlers: [], undo: [] },
  };
}

/** Handler of the longest registered path that equals or contains the request path; null without a match. */
export function findRoute(
  routes: ReadonlyMap<string, PluginRequestHandler>,
  requestUrl: string,
): PluginRequestHandler | null {
  const path = (requestUrl.split("?", 1)[0] ?? "").replace(/^\//, "");
  let best: string | null = null;
  for (const route of routes.keys()) {
    const fits = path === route || route === "" || path.startsWith(`${route}/`);
    if (fits && (best === null || route.length > best.length)) best = route;
  }
  return best === null ? null : (routes.get(best) ?? null);
}
