import type {
  DeliveryItem,
  PluginContext,
  PluginEvents,
  PluginRequestHandler,
  ProbeHandler,
  StopRequest,
} from "../plugin-api/index.ts";

type ChangeHandler = Parameters<PluginContext["resources"]["watch"]>[1];
type EventHandler = (payload: PluginEvents[keyof PluginEvents]) => void;

/** What a plugin has registered at its door. */
export interface Registrations {
  deliver: ((batch: DeliveryItem[]) => void) | null;
  stop: ((request: StopRequest) => void) | null;
  probe: ProbeHandler | null;
  routes: Map<string, PluginRequestHandler>;
  changeHandlers: { path: string; handler: ChangeHandler }[];
  eventHandlers: { name: keyof PluginEvents; handler: EventHandler }[];
  /** How to undo what reaches outside, oldest first. */
  undo: (() => Promise<void> | void)[];
}

/** Registrations of a plugin that has not asked for anything. */
export function emptyRegistrations(): Registrations {
  return { deliver: null, stop: null, probe: null, routes: new Map(), changeHandlers: [], eventHandlers: [], undo: [] };
}

/** The handler of the longest registered path that the request's path is or lies below; null when there is none. */
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
