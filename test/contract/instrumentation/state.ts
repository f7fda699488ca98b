/**
 * What a test asks of the API in this process, and the route that is taken away while it runs. It stands for all servers
 * of the process, since a test runs alone there.
 */

/** How a route was met in a test: answered well, or refused. */
export type RouteOutcome = "served" | "refused";

interface Watch {
  /** The route that is taken away, as `METHOD shape`; null for none. */
  without: string | null;
  /** Whether it was asked for since. */
  isMissed: boolean;
  /** What the running test met; null between tests. */
  met: Map<string, RouteOutcome> | null;
}

/** Of this process; hooks write it, the router follows it. */
export const observation: Watch = { without: null, isMissed: false, met: null };

/** Notes that the running test met a route; being served once counts for more than being refused. */
export function recordOutcome(route: string, how: RouteOutcome): void {
  if (observation.met && observation.met.get(route) !== "served") observation.met.set(route, how);
}
