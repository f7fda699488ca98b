import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { useConsole, useNow } from "../console-context.tsx";
import type { RowPage } from "./client.ts";
import type { CloudLink } from "./link-rows.ts";
import { activeNotifications, awaitingApproval } from "./notification-state.ts";
import { useTrackedQuery } from "./page-queries.ts";
import { ROUTES, type RouteFor, type RouteParams, type RouteQuery } from "./routes.ts";
import type { EndpointRow, ExtensionRow, NotificationRow } from "./rows.ts";
import type { AccessAnswer } from "./security-rows.ts";
import { type SiteClock, siteClockOf } from "./site-clock.ts";

type Readable = RouteFor<"get">;

/** `enabled: false` waits; `refetchInterval` in ms reads again and again, beside what the live feed asks for. */
interface QueryOptions {
  enabled?: boolean;
  refetchInterval?: number;
}

/** One answer of the API, kept fresh by the live feed. */
export function useRow<T>(
  route: Readable,
  params: RouteParams = {},
  query: RouteQuery = {},
  options: QueryOptions = {},
) {
  const { client } = useConsole();
  return useTrackedQuery(
    useQuery({
      queryKey: [ROUTES[route].resource, route, params, query],
      queryFn: () => client.get<T>(route, params, query),
      placeholderData: keepPreviousData,
      ...options,
    }),
  );
}

/** The first page of a list. */
export function useRows<T>(
  route: Readable,
  params: RouteParams = {},
  query: RouteQuery = {},
  options: QueryOptions = {},
) {
  return useRow<RowPage<T>>(route, params, query, options);
}

/** Whether the one at the console may read a path of the API; false until it is known. */
export function useCanRead(path: string): boolean {
  return useRow<AccessAnswer>("permission-explanations", {}, { verb: "get", path }).data?.granted ?? false;
}

/** Mutation that invalidates the queries of `resource`. */
export function useRowMutation<I, O>(resource: string, change: (input: I) => Promise<O>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: () => queries.invalidateQueries({ queryKey: [resource] }),
  });
}

const POLL_INTERVAL_MS = 3_000;

/** Polls a route whose changes the live feed does not report. */
export function usePolling(route: Readable): void {
  const queries = useQueryClient();
  const { clock, feed } = useConsole();
  useEffect(() => {
    if (!feed.live) return;
    const key = [ROUTES[route].resource, route];
    const reading = clock.every(POLL_INTERVAL_MS, () => void queries.invalidateQueries({ queryKey: key }));
    return () => reading.cancel();
  }, [queries, clock, feed.live, route]);
}

/** What forms are drawn from; it stays the same while the daemon runs. */
export function useSchemas() {
  const { client } = useConsole();
  return useTrackedQuery(
    useQuery({ queryKey: ["schema"], queryFn: () => client.schemas(), staleTime: Number.POSITIVE_INFINITY }),
  );
}

/** The newest broadcasts, newest first. */
export function useRecentNotifications(limit: number, options: QueryOptions = {}) {
  return useRows<NotificationRow>("notifications", {}, { draft: false, sort: "-createdAt", limit }, options);
}

/** Active messages must be visible even after a failed read or a missed change. */
const ACTIVE_POLL_MS = 10_000;

/** Active notifications. */
export function useActiveNotifications(): readonly NotificationRow[] {
  const last = useRecentNotifications(10, { refetchInterval: ACTIVE_POLL_MS });
  return activeNotifications(last.data?.data ?? [], useNow());
}

/** State of the link to the cloud; undefined until it is known. */
export function useCloudLink(): CloudLink | undefined {
  return useRow<CloudLink>("link").data;
}

/** Messages that wait for a second person, the oldest first; of a scenario the first one, since they go out together. */
export function useAwaitingApproval(): readonly NotificationRow[] {
  const query = { approval: "waiting", sort: "createdAt", limit: 100 };
  const { data } = useRows<NotificationRow>("notifications", {}, query, { refetchInterval: ACTIVE_POLL_MS });
  return awaitingApproval(data?.data ?? []);
}

/** Ends a broadcast; all its devices fall silent. */
export function useCancelNotification() {
  const { client } = useConsole();
  return useRowMutation("notifications", (notificationId: string) =>
    client.post("notifications/{notificationId}/activities", { notificationId }, { type: "abort" }),
  );
}

/** This appliance; undefined until it is known. */
export function useAppliance(): EndpointRow | undefined {
  return useAppliances().find(({ buildInfo }) => buildInfo !== null);
}

/** Local time at the site of the appliance. */
export function useSiteClock(): SiteClock {
  return siteClockOf(useAppliance()?.clock ?? null);
}

/** All appliances that are known, this one, which alone knows what runs on it, first. */
export function useAppliances(): readonly EndpointRow[] {
  const proxies = useRows<ExtensionRow>("extensions", {}, { type: "endpoint-proxy" });
  const extensionId = proxies.data?.data.find(({ name }) => name === "onprem")?.id;
  const endpoints = useRows<EndpointRow>(
    "extensions/{extensionId}/endpoints",
    { extensionId: extensionId ?? "" },
    {},
    { enabled: extensionId !== undefined },
  );
  const rows = endpoints.data?.data;
  return useMemo(
    () => [...(rows ?? [])].sort((a, b) => Number(b.buildInfo !== null) - Number(a.buildInfo !== null)),
    [rows],
  );
}
